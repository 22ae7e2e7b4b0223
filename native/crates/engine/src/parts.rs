//! The choices that make an engine.

use assay_primitives::{Hint, LockKind, PageMode};

use crate::EngineError;

/// How pages are found in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataCacheKind {
    /// One hash table and one LRU list under one lock.
    OneLock,
    /// Several of them, by page number.
    Partitioned,
    /// A hash table of atomic words, read without a lock or a shared write.
    LockFree,
}

impl DataCacheKind {
    /// Every kind.
    pub const ALL: [DataCacheKind; 3] =
        [DataCacheKind::OneLock, DataCacheKind::Partitioned, DataCacheKind::LockFree];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            DataCacheKind::OneLock => "one-lock",
            DataCacheKind::Partitioned => "partitioned",
            DataCacheKind::LockFree => "lock-free",
        }
    }
}

/// One choice for every part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Executed while waiting for a lock.
    pub hint: Hint,
    /// The kind of every lock.
    pub lock: LockKind,
    /// Back-off and futex: the limit of spinning.
    pub spin_limit: u32,
    /// Stride between neighbouring locks of a table; 0 puts them side by side.
    pub padding: usize,
    /// The data cache.
    pub data_cache: DataCacheKind,
    /// Partitions of the partitioned data cache.
    pub cache_partitions: usize,
    /// The pages of the arena.
    pub pages: PageMode,
}

impl Parts {
    /// Refuses what cannot be built.
    pub fn validate(&self) -> Result<(), EngineError> {
        if ![0, 64, 128].contains(&self.padding) {
            let (name, value) = ("padding", self.padding);
            return Err(EngineError::Part { name, value, allowed: "0, 64 or 128" });
        }
        let partitions = self.cache_partitions;
        if !partitions.is_power_of_two() || partitions > 65_536 {
            let (name, value) = ("cache_partitions", partitions);
            let allowed = "a power of two up to 65536";
            return Err(EngineError::Part { name, value, allowed });
        }
        Ok(())
    }
}
