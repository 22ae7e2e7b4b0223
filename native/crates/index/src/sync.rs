//! The atomics of this crate: the standard library's, or loom's with the feature `loom`, so that loom
//! runs the code that ships.

#[cfg(feature = "loom")]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(feature = "loom"))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Restarts in a row before the CPU is given away: a guess. The other side needs the CPU only when
/// there are more threads than CPUs, and otherwise is done within a few hundred nanoseconds.
#[cfg(not(feature = "loom"))]
const ROUNDS_BEFORE_YIELD: u32 = 32;

/// Waits a moment before another attempt, the `round`th in a row.
#[cfg(not(feature = "loom"))]
#[inline]
pub fn relax(round: u32) {
    if round < ROUNDS_BEFORE_YIELD {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// Lets the other threads of the model go on.
#[cfg(feature = "loom")]
pub fn relax(_round: u32) {
    loom::thread::yield_now();
}
