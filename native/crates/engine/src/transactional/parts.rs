//! The choices that make a transactional engine.

use assay_data_cache::DataCacheKind;
use assay_index::IndexKind;
use assay_log::LogMode;
use assay_primitives::{Hint, LockKind, PageMode};
use assay_transactions::CcKind;

use super::combinations::Store;
use crate::Elision;

/// One choice for every part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionalParts {
    /// Executed while waiting for a lock.
    pub hint: Hint,
    /// The kind of every latch and cache lock.
    pub lock: LockKind,
    /// Whether the locks of data caches are elided. Latches are not: they are held overlapping,
    /// which transactions of the hardware cannot be.
    pub elision: Elision,
    /// Transactions of the hardware that are tried again before a lock is taken.
    pub elision_retries: u32,
    /// Back-off and futex: the limit of spinning. Row locks: hints before the CPU is given away.
    pub spin_limit: u32,
    /// Stride between neighbouring locks of a table; 0 puts them side by side.
    pub padding: usize,
    /// The pages of rows and caches.
    pub pages: PageMode,
    /// How keys are found. With the hash index, tables that are scanned have an optimistic tree.
    pub index: IndexKind,
    /// Whether a hash cache stands before each tree.
    pub hash_cache: bool,
    /// What keeps transactions apart.
    pub cc: CcKind,
    /// Where rows of data tables are.
    pub store: Store,
    /// The data cache of data tables.
    pub data_cache: DataCacheKind,
    /// The data cache of system tables.
    pub system_cache: DataCacheKind,
    /// Partitions of partitioned data caches.
    pub cache_partitions: usize,
    /// How commits become durable.
    pub log: LogMode,
    /// After every n transactions one that is not counted; 0 for none.
    pub repeat_every: u64,
}
