//! The table of slots: open addressing with double hashing, and the hand of the clock.
//!
//! Each slot counts the pages that live further along their probe because it was occupied
//! (`displacements`): a probe ends at the first slot with none, and emptying a slot leaves no mark.
//!
//! A look-up first compares the key without pinning, so that it writes only to the slot that it
//! wants; the answer is verified after pinning, when the slot cannot change any more. (RocksDB's
//! newer variant, AutoHyperClockCache, does the same; the fixed one pins every slot on its way.)

use core::ptr::NonNull;

use super::meta::{COUNTDOWN_MAX, Meta};
use crate::{Moves, PageId, Pinned, Victim, spread};
use assay_primitives::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, yield_now};

/// Slots that one step of the hand passes: fewer additions to the shared hand.
const HAND_STEP: u64 = 4;
/// One more than the longest countdown, and one because others move the hand meanwhile.
const ROUNDS_MAX: u64 = COUNTDOWN_MAX + 2;
const NO_PAGE: PageId = PageId::MAX;

/// One slot. Two share a cache line: less to read for every look-up, and two pages that are in use
/// all the time are rarely neighbours.
#[repr(align(32))]
struct Slot {
    meta: Meta,
    frame: AtomicPtr<u8>,
    page: AtomicU32,
    displacements: AtomicU32,
}

/// The slots.
pub struct Table {
    slots: Box<[Slot]>,
    hand: AtomicU64,
}

impl Table {
    /// An empty table for up to `frames` pages at once.
    pub fn new(frames: usize) -> Self {
        // At most 0.7 full, as in RocksDB, so probes are short and always meet an empty slot.
        let slots = (frames * 10).div_ceil(7).next_power_of_two().max(HAND_STEP as usize);
        let slot = || Slot {
            meta: Meta::default(),
            frame: AtomicPtr::new(core::ptr::null_mut()),
            page: AtomicU32::new(NO_PAGE),
            displacements: AtomicU32::new(0),
        };
        Self { slots: (0..slots).map(|_| slot()).collect(), hand: AtomicU64::new(0) }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The first slot of a page and the distance to the next: odd, so that every slot has its turn.
    #[inline(always)]
    fn probe(&self, page: PageId) -> (usize, usize) {
        let hash = spread(page);
        let home = hash >> (32 - self.slots.len().trailing_zeros());
        (home as usize, (hash << 1 | 1) as usize)
    }

    #[inline(always)]
    fn next(&self, at: usize, step: usize) -> usize {
        at.wrapping_add(step) & (self.slots.len() - 1)
    }

    /// Finds a page and pins it.
    #[inline(always)]
    pub fn find(&self, page: PageId) -> Option<Pinned> {
        let (mut at, step) = self.probe(page);
        for _ in 0..self.slots.len() {
            let slot = &self.slots[at];
            if slot.page.load(Ordering::Relaxed) == page && slot.meta.acquire() {
                // Pinned: from here on the slot is what it is.
                if slot.page.load(Ordering::Relaxed) == page {
                    let frame = NonNull::new(slot.frame.load(Ordering::Relaxed))?;
                    // SAFETY: the slot is pinned.
                    return Some(unsafe { Pinned::new(frame, page, at as u32) });
                }
                slot.meta.undo();
            }
            if slot.displacements.load(Ordering::Relaxed) == 0 {
                return None;
            }
            at = self.next(at, step);
        }
        None
    }

    /// Gives back a pin.
    #[inline(always)]
    pub fn release(&self, pinned: Pinned) {
        self.slots[pinned.place() as usize].meta.release();
    }

    /// Adds a page that is not there, pinned.
    pub fn add(&self, page: PageId, frame: NonNull<u8>) -> Pinned {
        let (home, step) = self.probe(page);
        loop {
            let mut at = home;
            for _ in 0..self.slots.len() {
                let slot = &self.slots[at];
                if slot.meta.claim() {
                    slot.page.store(page, Ordering::Relaxed);
                    slot.frame.store(frame.as_ptr(), Ordering::Relaxed);
                    slot.meta.publish();
                    // SAFETY: `publish` leaves the slot pinned.
                    return unsafe { Pinned::new(frame, page, at as u32) };
                }
                // Before the page can be found further on.
                slot.displacements.fetch_add(1, Ordering::Relaxed);
                at = self.next(at, step);
            }
            // There is an empty slot, but it kept moving away from this probe.
            self.forget_displacements(home, step, self.slots.len());
            yield_now();
        }
    }

    fn forget_displacements(&self, home: usize, step: usize, count: usize) {
        let mut at = home;
        for _ in 0..count {
            self.slots[at].displacements.fetch_sub(1, Ordering::Relaxed);
            at = self.next(at, step);
        }
    }

    /// Takes out the first page whose countdown has ended.
    pub fn evict(&self, moves: &dyn Moves) -> Option<Victim> {
        let slots = self.slots.len() as u64;
        for _ in 0..ROUNDS_MAX * slots / HAND_STEP {
            let start = self.hand.fetch_add(HAND_STEP, Ordering::Relaxed);
            for at in start..start + HAND_STEP {
                let at = (at & (slots - 1)) as usize;
                if self.slots[at].meta.pass()
                    && let Some(victim) = self.take_out(at, moves)
                {
                    return Some(victim);
                }
            }
        }
        None
    }

    /// Empties a slot. It is pinned first, so that it still holds the page that `moves` was told
    /// of when it is taken over.
    fn take_out(&self, at: usize, moves: &dyn Moves) -> Option<Victim> {
        let slot = &self.slots[at];
        if !slot.meta.acquire() {
            return None;
        }
        let page = slot.page.load(Ordering::Relaxed);
        if !moves.begin(page) {
            slot.meta.undo();
            return None;
        }
        if !slot.meta.take() {
            moves.end(page);
            slot.meta.undo();
            return None;
        }
        let frame = NonNull::new(slot.frame.load(Ordering::Relaxed));
        slot.page.store(NO_PAGE, Ordering::Relaxed);
        let (home, step) = self.probe(page);
        self.forget_displacements(home, step, self.distance(home, step, at));
        slot.meta.clear();
        frame.map(|frame| Victim { page, frame })
    }

    /// How many slots a probe passes before it comes to `at`.
    fn distance(&self, home: usize, step: usize, at: usize) -> usize {
        let mut passed = (0..self.slots.len()).scan(home, |place, _| {
            let before = *place;
            *place = self.next(before, step);
            Some(before)
        });
        passed.position(|place| place == at).unwrap_or(0)
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;
    use crate::Unwatched;

    // SAFETY: one thread.
    const UNWATCHED: Unwatched = unsafe { Unwatched::new() };

    /// Otherwise probes would grow longer with every page that ever came and went.
    #[test]
    fn evicted_pages_leave_no_displacements() {
        let table = Table::new(40);
        let displaced = || {
            let of = |slot: &Slot| slot.displacements.load(Ordering::Relaxed);
            table.slots.iter().map(of).sum::<u32>()
        };
        let mut most = 0;
        for page in 0..2000 {
            if page >= 40 {
                assert!(table.evict(&UNWATCHED).is_some());
            }
            table.release(table.add(page, NonNull::dangling()));
            most = most.max(displaced());
        }
        assert!((10..200).contains(&most), "{most}");
        while table.evict(&UNWATCHED).is_some() {}
        assert_eq!(displaced(), 0);
    }
}
