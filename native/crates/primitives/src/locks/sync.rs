//! What the locks take from outside: atomics, a futex, and giving the CPU away. The standard
//! library's and the kernel's, or, with the feature `loom`, loom's, so that loom runs the shipped locks.
//!
//! Loom's atomics are larger than a word: with the feature `loom` a lock is not eight bytes and cannot
//! lie in a `LockTable`.

pub use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::arch::all::hint::Relax;

/// Looks that a thread takes in a row at something that is a few instructions away.
#[cfg(not(feature = "loom"))]
pub(crate) const POLLS: u32 = 256;
/// Loom pays for every look.
#[cfg(feature = "loom")]
pub(crate) const POLLS: u32 = 1;

/// Executes the hint. In a model the other threads go on, or it would wait for ever.
#[inline(always)]
pub(crate) fn relax<R: Relax>() {
    R::relax();
    #[cfg(feature = "loom")]
    yield_cpu();
}

/// Stores to a word that waiting threads swap.
#[cfg(not(feature = "loom"))]
#[inline(always)]
pub(crate) fn store_over_swaps(word: &AtomicU64, value: u64, order: Ordering) {
    word.store(value, order);
}

/// Stores to a word that waiting threads swap. The store comes after the swaps that found the word
/// as the storing thread had left it, but loom would also order it before them, and the waiting
/// thread would read its own swap for ever. Reading and writing in one step says it to loom; unlike
/// a store it lets a thread that acquires learn of earlier releases too, but not of this thread's
/// work unless `order` releases.
#[cfg(feature = "loom")]
pub fn store_over_swaps(word: &AtomicU64, value: u64, order: Ordering) {
    word.swap(value, order);
}

/// Gives the CPU away.
#[cfg(not(feature = "loom"))]
#[inline(always)]
pub(crate) fn yield_cpu() {
    // SAFETY: sched_yield takes no argument and always succeeds on Linux.
    unsafe { libc::sched_yield() };
}

#[cfg(feature = "loom")]
loom::thread_local! {
    static POLLS_IN_VAIN: core::cell::Cell<u32> = core::cell::Cell::new(0);
}

/// Orders of threads are explored until one thread has looked so often in vain.
#[cfg(feature = "loom")]
const POLLS_EXPLORED: u32 = 3;

/// Lets the other threads of the model go on. Two waiting threads could alternate for ever, each
/// time another order of threads to loom; so after some looks the execution is only brought to its
/// end, without trying other orders of what is left. A wait that nobody ends still shows: the
/// execution then never ends.
#[cfg(feature = "loom")]
pub fn yield_cpu() {
    POLLS_IN_VAIN.with(|polls| {
        polls.set(polls.get() + 1);
        if polls.get() > POLLS_EXPLORED {
            loom::skip_branch();
        }
    });
    loom::thread::yield_now();
}

/// A word on which threads can sleep (futex(2)).
#[cfg(not(feature = "loom"))]
#[repr(transparent)]
#[derive(Default)]
pub struct FutexWord(AtomicU32);

#[cfg(not(feature = "loom"))]
impl FutexWord {
    /// The word itself.
    #[inline(always)]
    pub fn atomic(&self) -> &AtomicU32 {
        &self.0
    }

    /// Wakes one of the threads that sleep on the word, if there is one.
    #[cold]
    #[inline(never)]
    pub fn wake_one(&self) {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the address is only a key for FUTEX_WAKE; the call does not touch the word.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 1) };
    }

    /// Sleeps until woken, unless the word is not `value` any more. May return without reason.
    #[cold]
    #[inline(never)]
    pub fn sleep_while(&self, value: u32) {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let no_timeout = core::ptr::null::<libc::timespec>();
        // SAFETY: the word is alive (borrowed) and a null timeout means none.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, value, no_timeout) };
    }
}

/// The kernel's futex as futex(2) promises it: comparing the word and going to sleep are one step,
/// ordered against wake-ups by the lock of the queue. It never wakes without reason, so that a lost
/// wake-up is a deadlock, which loom reports.
#[cfg(feature = "loom")]
#[derive(Default)]
pub struct FutexWord {
    word: AtomicU32,
    queue: loom::sync::Mutex<Queue>,
    woken: loom::sync::Condvar,
}

#[cfg(feature = "loom")]
#[derive(Default)]
struct Queue {
    sleeping: u32,
    /// Wake-ups that no sleeper has taken yet.
    wakes: u32,
}

#[cfg(feature = "loom")]
impl FutexWord {
    /// The word itself.
    pub fn atomic(&self) -> &AtomicU32 {
        &self.word
    }

    /// Wakes one of the threads that sleep on the word, if there is one.
    pub fn wake_one(&self) {
        let mut queue = self.queue.lock().expect(UNPOISONED);
        if queue.sleeping > queue.wakes {
            queue.wakes += 1;
            self.woken.notify_one();
        }
    }

    /// Sleeps until woken, unless the word is not `value` any more.
    pub fn sleep_while(&self, value: u32) {
        let mut queue = self.queue.lock().expect(UNPOISONED);
        if self.word.load(Ordering::Relaxed) != value {
            return;
        }
        queue.sleeping += 1;
        while queue.wakes == 0 {
            queue = self.woken.wait(queue).expect(UNPOISONED);
        }
        queue.wakes -= 1;
        queue.sleeping -= 1;
    }
}

#[cfg(feature = "loom")]
const UNPOISONED: &str = "a panic ends the model";
