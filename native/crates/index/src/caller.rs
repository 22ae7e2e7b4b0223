//! One thread's side of its calls: how it waits for latches, and what it met.

use assay_primitives::sync::yield_now;
use assay_primitives::{AnyLockContext, Contention};

/// Restarts in a row before the CPU is given away: a guess. The other side needs the CPU only when
/// there are more threads than CPUs, and otherwise is done within a few hundred nanoseconds. In a
/// model the other threads go on at once.
const ROUNDS_BEFORE_YIELD: u32 = if cfg!(feature = "loom") { 0 } else { 32 };

/// The node changed, or was being changed, while it was read: begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart;

/// One try at an optimistic operation.
pub type Attempt<T> = Result<T, Restart>;

/// What look-ups found in the hash table before a tree (`HashCached`); both 0 without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Answered by the table.
    pub hits: u64,
    /// Answered by the tree.
    pub misses: u64,
}

/// Kept by each thread, passed to each call. Counts are the thread's own and never shared.
#[derive(Debug)]
pub struct Caller {
    pub(crate) latches: AnyLockContext,
    restarts: u64,
    pub(crate) cache: CacheCounts,
}

impl Caller {
    /// A caller that has met nothing yet. `latches` are of the lock kind that the index was built with;
    /// an index without latches does not use them.
    pub fn new(latches: AnyLockContext) -> Self {
        Self { latches, restarts: 0, cache: CacheCounts::default() }
    }

    /// What it met at latches.
    pub fn contention(&self) -> Contention {
        self.latches.counts()
    }

    /// How often an optimistic operation began again because of another thread.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Hits and misses of the hash table before a tree.
    pub fn cache(&self) -> CacheCounts {
        self.cache
    }

    /// Attempts until it succeeds.
    #[inline]
    pub(crate) fn retry<T>(&mut self, mut attempt: impl FnMut() -> Attempt<T>) -> T {
        let mut round = 0;
        loop {
            if let Ok(result) = attempt() {
                return result;
            }
            self.wait_to_restart(round);
            round += 1;
        }
    }

    /// Counts a restart, the `round`th in a row, and waits a moment.
    pub(crate) fn wait_to_restart(&mut self, round: u32) {
        self.restarts += 1;
        if round < ROUNDS_BEFORE_YIELD {
            core::hint::spin_loop();
        } else {
            yield_now();
        }
    }
}
