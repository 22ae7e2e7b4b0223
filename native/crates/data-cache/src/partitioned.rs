//! The data cache of kind `partitioned`: pages dealt over partitions, each a hash table and an LRU
//! list under a lock of its own.
//!
//! The locks lie in a table with the arm's padding. The lists are always apart from each other, so
//! that padding is about the locks alone. Frames belong to no partition: one that finds all its
//! pages pinned takes a victim from the next.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockContext, LockTable, RawLock};

use crate::lru::Lru;
use crate::{
    CacheError, DataCache, LookUp, Moves, PageId, Pinned, Shape, Victim, check_shape, spread,
};

/// The cache behind one lock per partition.
pub struct Partitioned<L> {
    locks: LockTable<L>,
    partitions: Box<[Padded]>,
}

#[repr(align(128))]
struct Padded(UnsafeCell<Lru>);

// SAFETY: each list is reached only while holding its lock.
unsafe impl<L: RawLock> Sync for Partitioned<L> {}
// SAFETY: the pointers inside lead to frames, which belong to no thread.
unsafe impl<L: RawLock> Send for Partitioned<L> {}

impl<L: RawLock> Partitioned<L> {
    /// Finds a page, moving it to the front of its partition's list and pinning it, under that
    /// partition's lock.
    #[inline(never)]
    pub fn partition_look_up(&self, page: PageId, locks: &mut LockContext<L>) -> Option<Pinned> {
        self.with_partition(self.home(page), locks, |pages| pages.touch(page))
    }

    #[inline(always)]
    fn home(&self, page: PageId) -> usize {
        // The bucket inside a partition comes from the high bits of the same hash.
        (spread(page) >> 4) as usize & (self.partitions.len() - 1)
    }

    #[inline(always)]
    fn with_partition<T>(
        &self,
        partition: usize,
        locks: &mut LockContext<L>,
        body: impl FnOnce(&mut Lru) -> T,
    ) -> T {
        let pages = self.partitions[partition].0.get();
        // SAFETY: there are as many locks as partitions, and this is one.
        let lock = unsafe { self.locks.lock_unchecked(partition) };
        // SAFETY: the partition's lock is held while the reference lives.
        locks.with(lock, || body(unsafe { &mut *pages }))
    }
}

// SAFETY: all is done to an `Lru` under its lock; it finds what was added last and evicts no pinned page.
unsafe impl<L: RawLock> DataCache<L> for Partitioned<L> {
    fn arena_bytes(shape: Shape) -> usize {
        LockTable::<L>::bytes(shape.partitions, shape.padding)
    }

    fn new(arena: &Arena, shape: Shape) -> Result<Self, CacheError> {
        check_shape("partitioned", shape)?;
        if !shape.partitions.is_power_of_two() {
            let what = format!("{} partitions", shape.partitions);
            let next = "give it a power of two of partitions".to_owned();
            return Err(CacheError::Shape { kind: "partitioned", what, next });
        }
        let locks = LockTable::new(arena, shape.partitions, shape.padding)
            .ok_or(CacheError::ArenaFull("the data cache locks"))?;
        let pages = shape.frames.div_ceil(shape.partitions);
        let partition = || Padded(UnsafeCell::new(Lru::new(pages)));
        Ok(Self { locks, partitions: (0..shape.partitions).map(|_| partition()).collect() })
    }

    fn look_up_function() -> LookUp<L, Self> {
        Self::partition_look_up
    }

    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut LockContext<L>,
    ) -> Pinned {
        self.with_partition(self.home(page), locks, |pages| pages.add(page, frame))
    }

    #[inline]
    unsafe fn release(&self, pinned: Pinned, locks: &mut LockContext<L>) {
        let home = self.home(pinned.page());
        self.with_partition(home, locks, |pages| pages.release(pinned));
    }

    fn evict(
        &self,
        toward: PageId,
        moves: &dyn Moves,
        locks: &mut LockContext<L>,
    ) -> Option<Victim> {
        let (home, count) = (self.home(toward), self.partitions.len());
        let in_turn = (0..count).map(|step| (home + step) & (count - 1));
        in_turn
            .into_iter()
            .find_map(|partition| self.with_partition(partition, locks, |pages| pages.evict(moves)))
    }

    fn partitions(&self) -> usize {
        self.partitions.len()
    }
}
