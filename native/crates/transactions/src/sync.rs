//! The atomics of this crate: the standard library's, or loom's with `--cfg loom`, so that loom
//! runs the code that ships.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU64, Ordering, fence};
