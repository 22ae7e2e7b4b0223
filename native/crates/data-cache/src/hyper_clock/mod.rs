//! The data cache of kind `hyper-clock`: a fixed table of slots that are pinned and released by one
//! atomic addition each, without locks, after RocksDB's HyperClockCache (the fixed variant).
//!
//! A look-up of a page writes to that page's slot, so many threads on one page still meet at one
//! cache line; on different pages they do not meet at all, where a lock makes them.

pub mod meta;
pub mod table;

use core::marker::PhantomData;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockContext, RawLock};

use crate::{CacheError, DataCache, LookUp, Moves, PageId, Pinned, Shape, Victim, check_shape};
use table::Table;

/// The cache of atomic slots with CLOCK eviction.
pub struct HyperClock<L> {
    table: Table,
    locks_elsewhere: PhantomData<fn() -> L>,
}

impl<L: RawLock> HyperClock<L> {
    /// Finds a page and pins it with one atomic addition.
    #[inline(never)]
    pub fn hyper_clock_look_up(&self, page: PageId, _: &mut LockContext<L>) -> Option<Pinned> {
        self.table.find(page)
    }
}

// SAFETY: a slot whose count of pins is not zero is not taken over (`meta`, `table`).
unsafe impl<L: RawLock> DataCache<L> for HyperClock<L> {
    fn arena_bytes(_: Shape) -> usize {
        0
    }

    fn new(_: &Arena, shape: Shape) -> Result<Self, CacheError> {
        check_shape("hyper-clock", shape)?;
        Ok(Self { table: Table::new(shape.frames), locks_elsewhere: PhantomData })
    }

    fn look_up_function() -> LookUp<L, Self> {
        Self::hyper_clock_look_up
    }

    unsafe fn install(&self, page: PageId, frame: NonNull<u8>, _: &mut LockContext<L>) -> Pinned {
        self.table.add(page, frame)
    }

    #[inline(always)]
    unsafe fn release(&self, pinned: Pinned, _: &mut LockContext<L>) {
        self.table.release(pinned);
    }

    fn evict(&self, _: PageId, moves: &dyn Moves, _: &mut LockContext<L>) -> Option<Victim> {
        self.table.evict(moves)
    }

    fn partitions(&self) -> usize {
        0
    }
}
