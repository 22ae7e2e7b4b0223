//! The atomics of this crate: the standard library's, or loom's with the feature `loom`, so that loom
//! runs the code that ships.

#[cfg(feature = "loom")]
pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(feature = "loom"))]
pub use std::sync::atomic::{AtomicU64, Ordering, fence};
