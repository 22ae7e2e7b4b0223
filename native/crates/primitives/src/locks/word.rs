//! One word, taken by an atomic swap of 0 for 1: three kinds that differ in how they wait.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | free |
//! | 1 | held |
//!
//! Unfair: whoever swaps first after a release gets it. Under contention the same thread often wins
//! many times in a row, which looks fast; results therefore carry each thread's share.

use super::RawLock;
use super::sync::{AtomicU64, Ordering, relax, store_over_swaps, yield_cpu};
use crate::arch::all::hint::Relax;

/// The lock of kinds `tas`, `ttas` and `backoff`.
#[repr(transparent)]
#[derive(Default)]
pub struct WordLock {
    word: AtomicU64,
}

const FREE: u64 = 0;
const HELD: u64 = 1;

impl WordLock {
    #[inline(always)]
    pub(super) fn take(&self) -> bool {
        self.word.swap(HELD, Ordering::Acquire) == FREE
    }

    #[inline(always)]
    pub(super) fn looks_free(&self) -> bool {
        self.word.load(Ordering::Relaxed) == FREE
    }
}

// SAFETY: eight bytes, free at zero; only the thread whose swap (acquire) returned FREE gets in
// before the holder stores FREE (release).
unsafe impl RawLock for WordLock {
    type Token = ();

    #[inline(always)]
    unsafe fn enter(&self, (): &()) -> Result<(), usize> {
        if self.take() { Ok(()) } else { Err(0) }
    }

    #[inline(always)]
    unsafe fn leave(&self, (): &()) {
        store_over_swaps(&self.word, FREE, Ordering::Release);
    }
}

/// Swaps at every probe, so that every probe takes the cache line away from the holder.
///
/// # Safety
/// `lock` points to a live `WordLock`.
#[inline(always)]
pub(crate) unsafe fn tas_slow<R: Relax>(lock: *const (), _: usize, _: u32) -> u64 {
    // SAFETY: the caller promises a live lock of this type.
    let lock = unsafe { &*lock.cast::<WordLock>() };
    let mut spins = 0;
    loop {
        relax::<R>();
        spins += 1;
        if lock.take() {
            return spins;
        }
    }
}

/// Reads until the lock looks free, then swaps: waiting stays inside the own cache.
///
/// # Safety
/// `lock` points to a live `WordLock`.
#[inline(always)]
pub(crate) unsafe fn ttas_slow<R: Relax>(lock: *const (), _: usize, _: u32) -> u64 {
    // SAFETY: the caller promises a live lock of this type.
    let lock = unsafe { &*lock.cast::<WordLock>() };
    let mut spins = 0;
    loop {
        relax::<R>();
        spins += 1;
        if lock.looks_free() && lock.take() {
            return spins;
        }
    }
}

/// Probes after 1, 2, 4, ... hints while that is below `limit`, then gives the CPU away and starts
/// over. With a limit of 2048 this is nginx's `ngx_rwlock_wlock`: 2047 hints in a round.
///
/// # Safety
/// `lock` points to a live `WordLock`.
#[inline(always)]
pub(crate) unsafe fn backoff_slow<R: Relax>(lock: *const (), _: usize, limit: u32) -> u64 {
    // SAFETY: the caller promises a live lock of this type.
    let lock = unsafe { &*lock.cast::<WordLock>() };
    let mut spins = 0;
    loop {
        let mut pauses: u32 = 1;
        while pauses < limit {
            for _ in 0..pauses {
                relax::<R>();
            }
            spins += u64::from(pauses);
            if lock.looks_free() && lock.take() {
                return spins;
            }
            pauses = pauses.saturating_mul(2);
        }
        yield_cpu();
        if lock.looks_free() && lock.take() {
            return spins;
        }
    }
}
