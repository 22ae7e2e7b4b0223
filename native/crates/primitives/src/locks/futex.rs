//! A mutex that spins for a while and then sleeps in the kernel (Drepper, "Futexes Are Tricky",
//! 2011, mutex 2, with a spin phase before it).
//!
//! | word | meaning |
//! |---|---|
//! | 0 | free |
//! | 1 | held, nobody sleeps |
//! | 2 | held, somebody may sleep: the holder must wake one |
//!
//! The spin limit counts hints. Its duration therefore depends on what a hint costs, which is how
//! the same limit came to mean ten times the wait on newer CPUs; results carry the hint's cost.

use super::RawLock;
use super::sync::{FutexWord, Ordering, relax};
use crate::arch::all::hint::Relax;

/// The lock of kind `futex`. The second half of the eight bytes is unused.
#[repr(C, align(8))]
#[derive(Default)]
pub struct FutexLock {
    word: FutexWord,
    unused: u32,
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const SLEEPERS: u32 = 2;

impl FutexLock {
    #[inline(always)]
    fn take(&self) -> bool {
        let word = self.word.atomic();
        word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

// SAFETY: eight bytes, free at zero; only the thread that moved the word from FREE (acquire) gets
// in before the holder swaps FREE back (release).
unsafe impl RawLock for FutexLock {
    type Token = ();

    #[inline(always)]
    unsafe fn enter(&self, (): &()) -> Result<(), usize> {
        if self.take() { Ok(()) } else { Err(0) }
    }

    #[inline(always)]
    unsafe fn leave(&self, (): &()) {
        if self.word.atomic().swap(FREE, Ordering::Release) == SLEEPERS {
            self.word.wake_one();
        }
    }
}

/// Spins `limit` times, then sleeps until woken, marking the word so that the holder wakes us.
///
/// # Safety
/// `lock` points to a live `FutexLock`.
#[inline(always)]
pub(crate) unsafe fn futex_slow<R: Relax>(lock: *const (), _: usize, limit: u32) -> u64 {
    // SAFETY: the caller promises a live lock of this type.
    let lock = unsafe { &*lock.cast::<FutexLock>() };
    for spins in 1..=limit {
        relax::<R>();
        if lock.word.atomic().load(Ordering::Relaxed) == FREE && lock.take() {
            return u64::from(spins);
        }
    }
    while lock.word.atomic().swap(SLEEPERS, Ordering::Acquire) != FREE {
        lock.word.sleep_while(SLEEPERS);
    }
    u64::from(limit)
}
