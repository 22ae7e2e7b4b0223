//! The data cache of kind `lock-free`: open addressing in atomic words, read without a lock and
//! without a write to shared memory.
//!
//! | slot | meaning |
//! |---|---|
//! | 0 | empty: the page sought is not here |
//! | (page + 1) << 32 or more, low half a frame | that page is in that frame |
//!
//! A slot is written once, from empty, and never again: nothing is evicted yet. A cache with
//! eviction also has to protect a found page from it; that cost is not in this one, and figures
//! about it must say so.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use assay_primitives::{Arena, RawLock, Waiter};

use super::{DataCache, LookUp, Shape, spread};
use crate::EngineError;
use crate::page::PageId;

/// The cache without locks.
pub struct LockFree<L> {
    slots: Box<[AtomicU64]>,
    frames: Box<[AtomicPtr<u8>]>,
    frames_used: AtomicU32,
    locks_elsewhere: PhantomData<fn() -> L>,
}

const EMPTY: u64 = 0;

fn slot_content(page: PageId, frame: u32) -> u64 {
    (u64::from(page) + 1) << 32 | u64::from(frame)
}

impl<L: RawLock> LockFree<L> {
    /// Finds a page by probing; writes nothing.
    #[inline(never)]
    pub fn lock_free_look_up(&self, page: PageId, _: &mut Waiter) -> Option<NonNull<u8>> {
        let wanted = u64::from(page) + 1;
        let mut at = self.home(page);
        loop {
            let slot = self.slots[at].load(Ordering::Acquire);
            if slot >> 32 == wanted {
                // The slot's release store came after the frame's, so the pointer is there.
                return NonNull::new(self.frames[slot as u32 as usize].load(Ordering::Relaxed));
            }
            if slot == EMPTY {
                return None;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline(always)]
    fn home(&self, page: PageId) -> usize {
        (spread(page) >> (32 - self.slots.len().trailing_zeros())) as usize
    }
}

impl<L: RawLock> DataCache<L> for LockFree<L> {
    fn arena_bytes(_: Shape) -> usize {
        0
    }

    fn new(_: &Arena, shape: Shape) -> Result<Self, EngineError> {
        // At most half full, so probes are short and always meet an empty slot.
        let slots = (2 * shape.pages).next_power_of_two().max(2);
        Ok(Self {
            slots: (0..slots).map(|_| AtomicU64::new(EMPTY)).collect(),
            frames: (0..shape.pages).map(|_| AtomicPtr::new(core::ptr::null_mut())).collect(),
            frames_used: AtomicU32::new(0),
            locks_elsewhere: PhantomData,
        })
    }

    fn look_up_function() -> LookUp<Self> {
        Self::lock_free_look_up
    }

    fn install(&self, page: PageId, memory: NonNull<u8>, _: &mut Waiter) {
        let frame = self.frames_used.fetch_add(1, Ordering::Relaxed);
        self.frames[frame as usize].store(memory.as_ptr(), Ordering::Relaxed);
        let content = slot_content(page, frame);
        let mut at = self.home(page);
        let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        while self.slots[at].compare_exchange(EMPTY, content, release, relaxed).is_err() {
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn partitions(&self) -> usize {
        0
    }
}
