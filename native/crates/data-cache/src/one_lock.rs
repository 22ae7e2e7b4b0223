//! The data cache of kind `one-lock`: one hash table, one LRU list, one lock for all.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockContext, LockTable, RawLock};

use crate::lru::Lru;
use crate::{CacheError, DataCache, LookUp, Moves, PageId, Pinned, Shape, Victim, check_shape};

/// The cache behind a single lock.
pub struct OneLock<L> {
    lock: LockTable<L>,
    pages: Padded,
}

#[repr(align(128))]
struct Padded(UnsafeCell<Lru>);

// SAFETY: the list is reached only while holding the lock.
unsafe impl<L: RawLock> Sync for OneLock<L> {}
// SAFETY: the pointers inside lead to frames, which belong to no thread.
unsafe impl<L: RawLock> Send for OneLock<L> {}

impl<L: RawLock> OneLock<L> {
    /// Finds a page, moving it to the front of the list and pinning it, under the one lock.
    #[inline(never)]
    pub fn locked_look_up(&self, page: PageId, locks: &mut LockContext<L>) -> Option<Pinned> {
        self.with_pages(locks, |pages| pages.touch(page))
    }

    #[inline(always)]
    fn with_pages<T>(&self, locks: &mut LockContext<L>, body: impl FnOnce(&mut Lru) -> T) -> T {
        // SAFETY: `new` made one lock.
        let lock = unsafe { self.lock.lock_unchecked(0) };
        // SAFETY: the lock is held while the reference lives.
        locks.with(lock, || body(unsafe { &mut *self.pages.0.get() }))
    }
}

// SAFETY: all is done to an `Lru` under its lock; it finds what was added last and evicts no pinned page.
unsafe impl<L: RawLock> DataCache<L> for OneLock<L> {
    fn arena_bytes(shape: Shape) -> usize {
        LockTable::<L>::bytes(1, shape.padding.max(128))
    }

    fn new(arena: &Arena, shape: Shape) -> Result<Self, CacheError> {
        check_shape("one-lock", shape)?;
        let lock = LockTable::new(arena, 1, shape.padding.max(128))
            .ok_or(CacheError::ArenaFull("the data cache lock"))?;
        Ok(Self { lock, pages: Padded(UnsafeCell::new(Lru::new(shape.frames))) })
    }

    fn look_up_function() -> LookUp<L, Self> {
        Self::locked_look_up
    }

    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut LockContext<L>,
    ) -> Pinned {
        self.with_pages(locks, |pages| pages.add(page, frame))
    }

    #[inline]
    unsafe fn release(&self, pinned: Pinned, locks: &mut LockContext<L>) {
        self.with_pages(locks, |pages| pages.release(pinned));
    }

    fn evict(&self, _: PageId, moves: &dyn Moves, locks: &mut LockContext<L>) -> Option<Victim> {
        self.with_pages(locks, |pages| pages.evict(moves))
    }

    fn partitions(&self) -> usize {
        1
    }
}
