//! The one door to atomics and locks, of all crates with models: the standard library's, or loom's with the
//! feature `loom`, so that loom runs the code that ships.

#[cfg(feature = "loom")]
pub use loom::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(not(feature = "loom"))]
pub use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};
