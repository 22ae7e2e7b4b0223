//! The data cache of kind `partitioned`: pages dealt over partitions, each a hash table and an LRU
//! list under a lock of its own.
//!
//! The locks lie in a table with the arm's padding. The lists are always apart from each other, so
//! that padding is about the locks alone.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockTable, RawLock, Waiter};

use super::lru::Lru;
use super::{DataCache, LookUp, Shape, spread};
use crate::EngineError;
use crate::page::PageId;

/// The cache behind one lock per partition.
pub struct Partitioned<L> {
    locks: LockTable<L>,
    partitions: Box<[Padded]>,
}

#[repr(align(128))]
struct Padded(UnsafeCell<Lru>);

// SAFETY: each list is reached only while holding its lock.
unsafe impl<L: RawLock> Sync for Partitioned<L> {}
// SAFETY: the pointers inside lead to arena memory, which belongs to no thread.
unsafe impl<L: RawLock> Send for Partitioned<L> {}

impl<L: RawLock> Partitioned<L> {
    /// Finds a page, moving it to the front of its partition's list, under that partition's lock.
    #[inline(never)]
    pub fn locked_look_up(&self, page: PageId, waiter: &mut Waiter) -> Option<NonNull<u8>> {
        self.with_partition(page, waiter, |pages| pages.touch(page))
    }

    #[inline(always)]
    fn with_partition<T>(
        &self,
        page: PageId,
        waiter: &mut Waiter,
        body: impl FnOnce(&mut Lru) -> T,
    ) -> T {
        // The bucket inside a partition comes from the high bits of the same hash.
        let partition = (spread(page) >> 4) as usize & (self.partitions.len() - 1);
        let pages = self.partitions[partition].0.get();
        // SAFETY: the partition's lock is held while the reference lives.
        waiter.with(self.locks.lock(partition), || body(unsafe { &mut *pages }))
    }
}

impl<L: RawLock> DataCache<L> for Partitioned<L> {
    fn arena_bytes(shape: Shape) -> usize {
        LockTable::<L>::bytes(shape.partitions, shape.padding)
    }

    fn new(arena: &Arena, shape: Shape) -> Result<Self, EngineError> {
        let locks = LockTable::new(arena, shape.partitions, shape.padding)
            .ok_or(EngineError::ArenaFull("the data cache locks"))?;
        let pages = shape.pages.div_ceil(shape.partitions);
        let partition = || Padded(UnsafeCell::new(Lru::new(pages)));
        Ok(Self { locks, partitions: (0..shape.partitions).map(|_| partition()).collect() })
    }

    fn look_up_function() -> LookUp<Self> {
        Self::locked_look_up
    }

    fn install(&self, page: PageId, memory: NonNull<u8>, waiter: &mut Waiter) {
        self.with_partition(page, waiter, |pages| pages.add(page, memory));
    }

    fn partitions(&self) -> usize {
        self.partitions.len()
    }
}
