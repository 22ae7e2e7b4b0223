//! Data caches: from a page's number to its memory.
//!
//! All pages are resident and nothing is evicted, so a look-up is a hash probe plus whatever the
//! policy does to remember the use. That bookkeeping, and the lock around it, is the whole
//! difference between the kinds.
//!
//! Each kind's `look_up` is a function of its own, never inlined, and sessions call it through the
//! pointer that `Engine::selected` reports: the address in a result is the code that ran.

pub mod lock_free;
mod lru;
pub mod one_lock;
pub mod partitioned;

use core::ptr::NonNull;

use assay_primitives::{Arena, RawLock, Waiter};

use crate::EngineError;
use crate::page::PageId;

/// Finds the memory of a page; `None` if the page was never installed.
pub type LookUp<D> = fn(&D, PageId, &mut Waiter) -> Option<NonNull<u8>>;

/// Sizes of a data cache.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The largest number of pages.
    pub pages: usize,
    /// Partitions, where the kind has them.
    pub partitions: usize,
    /// Stride between neighbouring locks.
    pub padding: usize,
}

/// A cache of resident pages that many threads use at once.
pub trait DataCache<L: RawLock>: Sized + Send + Sync {
    /// The memory that the cache takes from the arena.
    fn arena_bytes(shape: Shape) -> usize;

    /// An empty cache.
    fn new(arena: &Arena, shape: Shape) -> Result<Self, EngineError>;

    /// The function that finds a page.
    fn look_up_function() -> LookUp<Self>;

    /// Makes a page known, once, before anybody looks it up.
    fn install(&self, page: PageId, memory: NonNull<u8>, waiter: &mut Waiter);

    /// Partitions really made; 0 where there is no lock.
    fn partitions(&self) -> usize;
}

/// Spreads page numbers over 32 bits (Fibonacci hashing: 2^32 divided by the golden ratio).
#[inline(always)]
fn spread(page: PageId) -> u32 {
    page.wrapping_mul(0x9E37_79B1)
}
