//! What the tests share: databases of each kind over each index.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![allow(dead_code, reason = "every test binary uses a part of it")]

use std::sync::LazyLock;

use assay_index::IndexKind;
use assay_primitives::Clock;
use assay_transactions::{ConcurrencyControl, Database, Options, TableOptions};
use assay_workload::tables::{TableId, TableSchema};

/// Ordered indexes.
pub const TREES: [IndexKind; 2] = [IndexKind::Latched, IndexKind::Optimistic];

pub fn clock() -> Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);
    *CLOCK
}

pub fn options(schemas: &[TableSchema], index: IndexKind) -> Options {
    let table = |schema: &TableSchema| TableOptions { schema: *schema, index, capacity: 1 << 14 };
    Options::new(schemas.iter().map(table).collect(), clock())
}

pub fn database<C: ConcurrencyControl>(schemas: &[TableSchema], index: IndexKind) -> Database<C> {
    Database::new(options(schemas, index)).unwrap()
}

/// Tables of rows of `words` words.
pub fn schemas(tables: u8, words: usize) -> Vec<TableSchema> {
    let schema = |id| TableSchema { id: TableId(id), name: "numbers", row_bytes: words * 8 };
    (0..tables).map(schema).collect()
}

/// Runs a generic function for every kind: `every_kind!(function(arguments))`.
#[macro_export]
macro_rules! every_kind {
    ($function:ident($($argument:expr),*)) => {{
        $function::<assay_transactions::NoWait>($($argument),*);
        $function::<assay_transactions::WaitDie>($($argument),*);
        $function::<assay_transactions::Optimistic>($($argument),*);
        $function::<assay_transactions::MultiVersion>($($argument),*);
    }};
}

/// xorshift64 (Marsaglia, 2003).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
