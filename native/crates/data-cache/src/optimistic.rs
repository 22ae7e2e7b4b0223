//! The data cache of kind `optimistic`: open addressing in atomic words, read without a lock and
//! without a write to shared memory.
//!
//! | slot | meaning |
//! |---|---|
//! | 0 | empty: the page sought is not here |
//! | (page + 1) << 32 or more, low half a frame's number | that page is in that frame |
//!
//! Every page stays in its frame for ever, so a slot is written once, from empty, and a reader has
//! nothing to validate afterwards. The alternative, evicting under readers that check a version
//! after use, is not possible for what these pages hold: rows carry their locks, and a reader that
//! takes one writes to the frame before it could find out that the page has gone. A shape with
//! fewer frames than pages is therefore refused. Figures about this kind must say that it is spared
//! the cost of eviction.

use core::marker::PhantomData;
use core::ptr::NonNull;

use assay_primitives::{Arena, LockContext, RawLock};

use crate::{
    CacheError, DataCache, LookUp, Moves, PageId, Pinned, Shape, Victim, check_shape, spread,
};
use assay_primitives::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The cache whose readers write nothing.
pub struct Optimistic<L> {
    table: Table,
    locks_elsewhere: PhantomData<fn() -> L>,
}

/// The slots, without the type of the locks that this kind does not have.
pub struct Table {
    slots: Box<[AtomicU64]>,
    frames: Box<[AtomicPtr<u8>]>,
    frames_used: AtomicU32,
}

const EMPTY: u64 = 0;

fn slot_content(page: PageId, frame: u32) -> u64 {
    (u64::from(page) + 1) << 32 | u64::from(frame)
}

impl Table {
    /// An empty table for up to `pages` pages.
    pub fn new(pages: usize) -> Self {
        // At most half full, so probes are short and always meet an empty slot.
        let slots = (2 * pages).next_power_of_two().max(2);
        Self {
            slots: (0..slots).map(|_| AtomicU64::new(EMPTY)).collect(),
            frames: (0..pages).map(|_| AtomicPtr::new(core::ptr::null_mut())).collect(),
            frames_used: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    fn home(&self, page: PageId) -> usize {
        (spread(page) >> (32 - self.slots.len().trailing_zeros())) as usize
    }

    /// Finds a page by probing; writes nothing.
    #[inline(always)]
    pub fn find(&self, page: PageId) -> Option<Pinned> {
        let wanted = u64::from(page) + 1;
        let mut at = self.home(page);
        loop {
            let slot = self.slots[at].load(Ordering::Acquire);
            if slot >> 32 == wanted {
                let place = slot as u32;
                // The slot's release came after the frame's store, so the pointer is there.
                let frame = self.frames[place as usize].load(Ordering::Relaxed);
                // SAFETY: every page stays in its frame for ever.
                return NonNull::new(frame).map(|it| unsafe { Pinned::new(it, page, place) });
            }
            if slot == EMPTY {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a page for ever.
    pub fn add(&self, page: PageId, frame: NonNull<u8>) -> Pinned {
        let place = self.frames_used.fetch_add(1, Ordering::Relaxed);
        self.frames[place as usize].store(frame.as_ptr(), Ordering::Relaxed);
        let content = slot_content(page, place);
        let mut at = self.home(page);
        let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        while self.slots[at].compare_exchange(EMPTY, content, release, relaxed).is_err() {
            at = (at + 1) & (self.slots.len() - 1);
        }
        // SAFETY: as in `find`.
        unsafe { Pinned::new(frame, page, place) }
    }
}

impl<L: RawLock> Optimistic<L> {
    /// Finds a page by probing; writes nothing.
    #[inline(never)]
    pub fn optimistic_look_up(&self, page: PageId, _: &mut LockContext<L>) -> Option<Pinned> {
        self.table.find(page)
    }
}

// SAFETY: a slot is written once, and nothing is ever evicted.
unsafe impl<L: RawLock> DataCache<L> for Optimistic<L> {
    fn arena_bytes(_: Shape) -> usize {
        0
    }

    fn new(_: &Arena, shape: Shape) -> Result<Self, CacheError> {
        let kind = "optimistic";
        check_shape(kind, shape)?;
        if shape.frames < shape.pages {
            let (frames, pages) = (shape.frames, shape.pages);
            let what = format!("{frames} frames for {pages} pages, but it evicts nothing");
            let next = "give it a frame for every page, or choose one-lock, partitioned or \
                        hyper-clock"
                .to_owned();
            return Err(CacheError::Shape { kind, what, next });
        }
        Ok(Self { table: Table::new(shape.pages), locks_elsewhere: PhantomData })
    }

    fn look_up_function() -> LookUp<L, Self> {
        Self::optimistic_look_up
    }

    unsafe fn install(&self, page: PageId, frame: NonNull<u8>, _: &mut LockContext<L>) -> Pinned {
        self.table.add(page, frame)
    }

    #[inline(always)]
    unsafe fn release(&self, _: Pinned, _: &mut LockContext<L>) {}

    fn evict(&self, _: PageId, _: &dyn Moves, _: &mut LockContext<L>) -> Option<Victim> {
        None
    }

    fn partitions(&self) -> usize {
        0
    }
}
