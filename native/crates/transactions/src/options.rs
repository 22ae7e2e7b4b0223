//! What a database is made of.

use std::sync::Arc;

use assay_index::{BuiltIndex, IndexKind};
use assay_log::Log;
use assay_primitives::{Clock, Hint, LockKind, PageMode};
use assay_workload::tables::TableSchema;

use crate::bugs::SeededBug;
use crate::rows::{MemoryRows, Rows};

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// Its number, which is its place in the list, and the size of its rows.
    pub schema: TableSchema,
    /// Which index. Scans need an ordered one.
    pub index: IndexKind,
    /// For the hash index: how many different keys are ever inserted.
    pub capacity: usize,
}

/// How threads wait for latches and for rows.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Executed between two looks.
    pub hint: Hint,
    /// Hints before the CPU is given away (or the thread sleeps, with futex latches).
    pub limit: u32,
}

impl Default for Waiting {
    /// The architecture's usual hint, and 1,000 of them.
    fn default() -> Self {
        let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Yield };
        Self { hint, limit: 1000 }
    }
}

/// What a database is made of.
pub struct Options {
    /// The tables, in the order of their numbers.
    pub tables: Vec<TableOptions>,
    /// Empty, or one empty index per table to use instead of building them: for indexes of other
    /// kinds, such as a hash cache before a tree. `TableOptions::index` must then still say
    /// whether the index is ordered.
    pub indexes: Vec<BuiltIndex>,
    /// The kind of the latches in indexes that have latches.
    pub lock: LockKind,
    /// How to wait for latches and rows.
    pub waiting: Waiting,
    /// The redo log; none for no durability.
    pub log: Option<Arc<Log>>,
    /// Where rows live.
    pub rows: Rows,
    /// Times the waits, and orders transactions by age (wait-die).
    pub clock: Clock,
    /// How many workers there are at most at the same time, loaders included; up to 255.
    pub workers: usize,
    /// A mistake to make, in tests. Ignored unless the feature `seeded-bugs` is on.
    pub bug: Option<SeededBug>,
}

impl Options {
    /// No log, rows in memory on small pages, TTAS latches, 16 workers.
    pub fn new(tables: Vec<TableOptions>, clock: Clock) -> Self {
        Self {
            tables,
            indexes: Vec::new(),
            lock: LockKind::Ttas,
            waiting: Waiting::default(),
            log: None,
            rows: Rows::Memory(MemoryRows::new(PageMode::Small)),
            clock,
            workers: 16,
            bug: None,
        }
    }
}
