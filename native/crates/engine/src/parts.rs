//! The choices that make an engine.

pub use assay_data_cache::DataCacheKind;
use assay_primitives::locks::Waiting;
use assay_primitives::{Clock, Hint, LockKind, PageMode, named};

use crate::EngineError;

named! {
    /// Whether critical sections run as hardware transactions that only read their lock.
    pub enum Elision {
        /// Every lock is taken.
        Off "off",
        /// Locks of kind `ttas` are elided; needs a CPU whose transactions commit.
        On "on",
    }
}

impl Elision {
    /// How locks of a kind are waited for with this elision. Refuses to elide any kind but `ttas`,
    /// and a CPU whose transactions do not commit.
    pub fn waiting(
        self,
        lock: LockKind,
        hint: Hint,
        spin_limit: u32,
        retries: u32,
        clock: Clock,
    ) -> Result<Waiting, EngineError> {
        match (self, lock) {
            (Elision::Off, _) => Ok(Waiting::new(lock, hint, spin_limit, clock)?),
            (Elision::On, LockKind::Ttas) => Ok(Waiting::elided(hint, retries, clock)?),
            (Elision::On, _) => Err(EngineError::Elision { lock: lock.name() }),
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
    /// Whether locks are elided.
    pub elision: Elision,
    /// Elision: attempts after the first before the lock is taken.
    pub elision_retries: u32,
    /// Back-off and futex: the limit of spinning.
    pub spin_limit: u32,
    /// Stride between neighbouring locks of a table; 0 puts them side by side.
    pub padding: usize,
    /// The data cache.
    pub data_cache: DataCacheKind,
    /// Partitions of the partitioned data cache.
    pub cache_partitions: usize,
    /// Percent of the pages of the loaded records that fit the data cache. At 100 every page stays
    /// in memory, inserted ones too; below, pages are evicted to a file in the system's temporary
    /// folder.
    pub cache_share: usize,
    /// The pages of the arena.
    pub pages: PageMode,
}

impl Parts {
    /// How every lock is waited for.
    pub fn waiting(&self, clock: Clock) -> Result<Waiting, EngineError> {
        let (retries, limit) = (self.elision_retries, self.spin_limit);
        self.elision.waiting(self.lock, self.hint, limit, retries, clock)
    }

    /// Refuses what cannot be built.
    pub fn validate(&self) -> Result<(), EngineError> {
        if ![0, 64, 128].contains(&self.padding) {
            let (name, value) = ("padding", self.padding);
            return Err(EngineError::Part { name, value, allowed: "0, 64 or 128" });
        }
        if self.elision == Elision::On && self.lock != LockKind::Ttas {
            return Err(EngineError::Elision { lock: self.lock.name() });
        }
        let partitions = self.cache_partitions;
        if !partitions.is_power_of_two() || partitions > 65_536 {
            let (name, value) = ("cache_partitions", partitions);
            let allowed = "a power of two up to 65536";
            return Err(EngineError::Part { name, value, allowed });
        }
        self.validate_share()
    }

    fn validate_share(&self) -> Result<(), EngineError> {
        let (name, value) = ("cache_share", self.cache_share);
        if !(1..=100).contains(&value) {
            return Err(EngineError::Part { name, value, allowed: "from 1 to 100 percent" });
        }
        if value < 100 && !self.data_cache.evicts() {
            let allowed = "100 with data_cache `optimistic`, which evicts nothing; `one-lock`, \
                           `partitioned` and `hyper-clock` can have less";
            return Err(EngineError::Part { name, value, allowed });
        }
        Ok(())
    }
}
