//! A version that is also a lock: optimistic lock coupling's word.
//!
//! | bit 0 | bits 1..64 | meaning |
//! |---|---|---|
//! | 0 | n | nobody writes; the node was changed n times |
//! | 1 | n | one thread writes; readers begin again |
//!
//! Orders, after Boehm's analysis of seqlocks. The protected words are relaxed atomics.
//!
//! * A reader loads the version with acquire, reads words, and checks with `fence(Acquire)` and a
//!   relaxed load. The fence keeps the words' loads before the check; an acquire *load* would not.
//! * A writer locks with `CAS(Acquire)` and `fence(Release)`. The fence keeps the words' stores
//!   after the lock; a CAS with release would not.
//!
//! The widespread pair CAS(Release) and load(Acquire) is wrong on weakly ordered CPUs;
//! `tests/loom.rs` shows loom rejecting it.

use crate::caller::{Attempt, Restart};
use assay_primitives::sync::{AtomicU64, Ordering, fence};

const LOCKED: u64 = 1;
const STEP: u64 = 2;

/// The word.
pub struct Version(AtomicU64);

impl Default for Version {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Version {
    /// Begins an optimistic read; fails while somebody writes.
    #[inline(always)]
    pub fn read(&self) -> Attempt<u64> {
        let version = self.0.load(Ordering::Acquire);
        if version & LOCKED == 0 { Ok(version) } else { Err(Restart) }
    }

    /// Ends an optimistic read: all that was read since `read` returned `version` belongs together.
    #[inline(always)]
    pub fn check(&self, version: u64) -> Attempt<()> {
        fence(Ordering::Acquire);
        if self.0.load(Ordering::Relaxed) == version { Ok(()) } else { Err(Restart) }
    }

    /// Whether the node has this version and nobody writes, for node sets.
    #[inline]
    pub fn is(&self, version: u64) -> bool {
        self.0.load(Ordering::Acquire) == version
    }

    /// Locks, if nothing has changed since `read` returned `version`. What was read in between is
    /// then valid without `check`.
    #[inline(always)]
    pub fn lock(&self, version: u64) -> Attempt<Locked<'_>> {
        let locked = version | LOCKED;
        match self.0.compare_exchange(version, locked, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                fence(Ordering::Release);
                Ok(Locked { word: &self.0, before: version, after: version })
            }
            Err(_) => Err(Restart),
        }
    }
}

/// A lock held; dropping it unlocks.
pub struct Locked<'a> {
    word: &'a AtomicU64,
    before: u64,
    after: u64,
}

impl Locked<'_> {
    /// Declares that the protected words were or will be written, and returns the version that
    /// unlocking will publish. Without this call unlocking restores the old version.
    #[inline(always)]
    pub fn change(&mut self) -> u64 {
        self.after = self.before.wrapping_add(STEP);
        self.after
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.word.store(self.after, Ordering::Release);
    }
}
