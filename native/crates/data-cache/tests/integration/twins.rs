//! The order of eviction against slow, obvious twins: a list for LRU, an array for the CLOCK.

use std::ptr::NonNull;

use assay_data_cache::{DataCacheKind, Moves, PageCache, PageId, Pinned, Shape, Victim, build};
use assay_primitives::{Arena, LockKind, PageMode};

use crate::support::{UNWATCHED, install, locks, next, unpin};

const FRAMES: usize = 40;
const PAGES: u64 = 120;
const STEPS: usize = 40_000;

fn cache(kind: DataCacheKind, arena: &Arena) -> Box<dyn PageCache> {
    let shape = Shape { pages: PAGES as usize, frames: FRAMES, partitions: 1, padding: 64 };
    build(kind, LockKind::Ttas, shape, arena).unwrap()
}

/// A frame for each page, told apart by its address; nobody looks inside.
fn frame(page: PageId) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(4096 * (page as usize + 1))).unwrap()
}

/// What a twin must answer. Pages are pinned and released in pairs with the cache.
trait Twin {
    /// The page was found or installed, at this place.
    fn used(&mut self, pinned: &Pinned, is_new: bool);
    fn released(&mut self, page: PageId);
    fn victim(&mut self) -> Option<PageId>;
}

/// Newest first, with pins.
#[derive(Default)]
struct List(Vec<(PageId, u32)>);

impl Twin for List {
    fn used(&mut self, pinned: &Pinned, _: bool) {
        let place = self.0.iter().position(|(page, _)| *page == pinned.page());
        let pins = place.map_or(0, |place| self.0.remove(place).1);
        self.0.insert(0, (pinned.page(), pins + 1));
    }

    fn released(&mut self, page: PageId) {
        self.0.iter_mut().find(|(other, _)| *other == page).unwrap().1 -= 1;
    }

    fn victim(&mut self) -> Option<PageId> {
        let place = self.0.iter().rposition(|(_, pins)| *pins == 0)?;
        Some(self.0.remove(place).0)
    }
}

/// What stands in a slot: a page, its uses (as far as they count) and its pins.
struct Clock {
    slots: Vec<Option<(PageId, u64, u32)>>,
    hand: usize,
}

impl Clock {
    fn new() -> Self {
        // Slots for 0.7 of them full, rounded up to a power of two.
        Self { slots: (0..64).map(|_| None).collect(), hand: 0 }
    }

    fn pass(&mut self, at: usize) -> Option<PageId> {
        let (page, uses, pins) = self.slots[at].as_mut()?;
        if *pins > 0 {
            return None;
        }
        if *uses > 0 {
            *uses = (*uses).min(3) - 1;
            return None;
        }
        let page = *page;
        self.slots[at] = None;
        Some(page)
    }
}

impl Twin for Clock {
    fn used(&mut self, pinned: &Pinned, is_new: bool) {
        let slot = &mut self.slots[pinned.place() as usize];
        match slot {
            None => {
                assert!(is_new);
                *slot = Some((pinned.page(), 1, 1));
            }
            Some((page, uses, pins)) => {
                assert_eq!((*page, is_new), (pinned.page(), false));
                *uses += 1;
                *pins += 1;
            }
        }
    }

    fn released(&mut self, page: PageId) {
        let mut slots = self.slots.iter_mut().flatten();
        slots.find(|(other, _, _)| *other == page).unwrap().2 -= 1;
    }

    fn victim(&mut self) -> Option<PageId> {
        // Four slots a step; what is left of the step when a victim is found is skipped.
        for _ in 0..5 * self.slots.len() / 4 {
            let step = self.hand;
            self.hand += 4;
            for at in step..step + 4 {
                if let Some(page) = self.pass(at % self.slots.len()) {
                    return Some(page);
                }
            }
        }
        None
    }
}

/// One thread pins, installs, releases and evicts at random; the twin predicts every victim.
fn follow(kind: DataCacheKind, twin: &mut dyn Twin) {
    let arena = Arena::new(1 << 16, PageMode::Small).unwrap();
    let (cache, locks) = (cache(kind, &arena), &mut locks(LockKind::Ttas));
    let (mut pins, mut present) = (Vec::new(), vec![false; PAGES as usize]);
    let (mut random, mut evictions, mut refusals) = (7, 0, 0);
    for _ in 0..STEPS {
        let page = (next(&mut random) % PAGES) as PageId;
        match cache.pin(page, locks) {
            Some(pinned) => {
                assert!(present[page as usize]);
                assert_eq!((pinned.page(), pinned.frame()), (page, frame(page)));
                twin.used(&pinned, false);
                pins.push(pinned);
            }
            None => {
                assert!(!present[page as usize], "page {page} is there and was missed");
                if present.iter().filter(|is_there| **is_there).count() == FRAMES {
                    let victim = cache.evict(page, &UNWATCHED, locks);
                    let expected = twin.victim();
                    assert_eq!(victim, expected.map(|page| Victim { page, frame: frame(page) }));
                    let Some(victim) = victim else {
                        refusals += 1;
                        release(&mut pins, 0, &*cache, twin);
                        continue;
                    };
                    evictions += 1;
                    present[victim.page as usize] = false;
                }
                let pinned = install(&*cache, page, frame(page), locks);
                present[page as usize] = true;
                twin.used(&pinned, true);
                pins.push(pinned);
            }
        }
        // Sometimes many pages stay pinned, up to all of them.
        let kept = if next(&mut random).is_multiple_of(500) { 0 } else { FRAMES + 30 };
        while pins.len() > kept || (!pins.is_empty() && next(&mut random).is_multiple_of(2)) {
            let which = (next(&mut random) % pins.len() as u64) as usize;
            release(&mut pins, which, &*cache, twin);
        }
    }
    assert!(evictions > 1000, "{evictions} evictions are too few to tell");
    assert!(refusals < STEPS / 10, "{refusals}");
}

fn release(pins: &mut Vec<Pinned>, which: usize, cache: &dyn PageCache, twin: &mut dyn Twin) {
    let pinned = pins.swap_remove(which);
    twin.released(pinned.page());
    unpin(cache, pinned, &mut locks(LockKind::Ttas));
}

#[test]
fn the_one_lock_cache_evicts_the_least_recently_used() {
    follow(DataCacheKind::OneLock, &mut List::default());
}

#[test]
fn each_partition_evicts_its_least_recently_used() {
    follow(DataCacheKind::Partitioned, &mut List::default());
}

#[test]
fn the_hyper_clock_evicts_by_the_clock() {
    follow(DataCacheKind::HyperClock, &mut Clock::new());
}

#[test]
fn nothing_is_evicted_while_everything_is_pinned() {
    for kind in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        let arena = Arena::new(1 << 16, PageMode::Small).unwrap();
        let (cache, locks) = (cache(kind, &arena), &mut locks(LockKind::Ttas));
        let mut pins: Vec<Pinned> =
            (0..FRAMES as PageId).map(|page| install(&*cache, page, frame(page), locks)).collect();
        assert_eq!(cache.evict(99, &UNWATCHED, locks), None, "{}", kind.name());
        unpin(&*cache, pins.swap_remove(5), locks);
        let victim = cache.evict(99, &UNWATCHED, locks);
        assert_eq!(victim, Some(Victim { page: 5, frame: frame(5) }), "{}", kind.name());
        assert_eq!(cache.evict(99, &UNWATCHED, locks), None);
        assert_eq!(cache.pin(5, locks), None);
    }
}

/// Somebody moves page 5 all the time.
struct Busy;

// SAFETY: one thread evicts and installs.
unsafe impl Moves for Busy {
    fn begin(&self, page: PageId) -> bool {
        page != 5
    }

    fn end(&self, _: PageId) {}
}

#[test]
fn a_page_that_moves_is_not_evicted() {
    for kind in DataCacheKind::ALL.into_iter().filter(|kind| kind.evicts()) {
        let arena = Arena::new(1 << 16, PageMode::Small).unwrap();
        let (cache, locks) = (cache(kind, &arena), &mut locks(LockKind::Ttas));
        for page in [5, 6, 7] {
            let pinned = install(&*cache, page, frame(page), locks);
            unpin(&*cache, pinned, locks);
        }
        let victims = std::iter::from_fn(|| cache.evict(9, &Busy, locks));
        let mut pages: Vec<PageId> = victims.map(|victim| victim.page).collect();
        pages.sort_unstable();
        assert_eq!(pages, [6, 7], "{}", kind.name());
        let pinned = cache.pin(5, locks).unwrap();
        unpin(&*cache, pinned, locks);
        let victim = cache.evict(9, &UNWATCHED, locks);
        assert_eq!(victim.or_else(|| cache.evict(9, &UNWATCHED, locks)).unwrap().page, 5);
    }
}
