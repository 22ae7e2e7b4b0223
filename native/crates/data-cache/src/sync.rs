//! The atomics of this crate: the standard library's, or loom's with the feature `loom`, so that loom
//! runs the code that ships.

#[cfg(feature = "loom")]
pub use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
#[cfg(not(feature = "loom"))]
pub use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Waits a moment for another thread that is reading or writing a file: the CPU is given away.
#[cfg(not(feature = "loom"))]
#[inline]
pub fn give_way() {
    std::thread::yield_now();
}

/// Lets the other threads of the model go on.
#[cfg(feature = "loom")]
pub fn give_way() {
    loom::thread::yield_now();
}
