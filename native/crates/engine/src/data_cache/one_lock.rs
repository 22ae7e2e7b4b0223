//! The data cache of kind `one-lock`: one hash table, one LRU list, one lock for all.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockTable, RawLock, Waiter};

use super::lru::Lru;
use super::{DataCache, LookUp, Shape};
use crate::EngineError;
use crate::page::PageId;

/// The cache behind a single lock.
pub struct OneLock<L> {
    lock: LockTable<L>,
    pages: Padded,
}

#[repr(align(128))]
struct Padded(UnsafeCell<Lru>);

// SAFETY: the list is reached only while holding the lock.
unsafe impl<L: RawLock> Sync for OneLock<L> {}
// SAFETY: the pointers inside lead to arena memory, which belongs to no thread.
unsafe impl<L: RawLock> Send for OneLock<L> {}

impl<L: RawLock> OneLock<L> {
    /// Finds a page, moving it to the front of the list, under the one lock.
    #[inline(never)]
    pub fn locked_look_up(&self, page: PageId, waiter: &mut Waiter) -> Option<NonNull<u8>> {
        // SAFETY: the lock is held while the reference lives.
        waiter.with(self.lock.lock(0), || unsafe { &mut *self.pages.0.get() }.touch(page))
    }
}

impl<L: RawLock> DataCache<L> for OneLock<L> {
    fn arena_bytes(shape: Shape) -> usize {
        LockTable::<L>::bytes(1, shape.padding.max(128))
    }

    fn new(arena: &Arena, shape: Shape) -> Result<Self, EngineError> {
        let lock = LockTable::new(arena, 1, shape.padding.max(128))
            .ok_or(EngineError::ArenaFull("the data cache lock"))?;
        Ok(Self { lock, pages: Padded(UnsafeCell::new(Lru::new(shape.pages))) })
    }

    fn look_up_function() -> LookUp<Self> {
        Self::locked_look_up
    }

    fn install(&self, page: PageId, memory: NonNull<u8>, waiter: &mut Waiter) {
        // SAFETY: the lock is held while the reference lives.
        waiter.with(self.lock.lock(0), || unsafe { &mut *self.pages.0.get() }.add(page, memory));
    }

    fn partitions(&self) -> usize {
        1
    }
}
