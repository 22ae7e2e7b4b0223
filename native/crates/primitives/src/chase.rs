//! Loads that depend on each other: each says where the next one goes, in an order without a
//! pattern, so that nothing can be fetched before it is asked for.
//!
//! Places lie `stride` bytes apart and take one cache line each. Where a stride has several lines,
//! neighbouring places take neighbouring ones, so that lines are spread over all sets of a cache.
//! Their order is one random cycle through all of them. A permutation of "next" that is only random
//! falls into several cycles, most of them shorter than the memory; here the order itself is
//! shuffled (Fisher and Yates; Durstenfeld, "Algorithm 235", CACM 7, 1964) and then closed. Every
//! cycle is as likely as by Sattolo's algorithm ("An algorithm to generate a random cyclic
//! permutation", Information Processing Letters 22, 1986), and each place's rank comes with it.

use crate::Arena;
use crate::arch::all::launder::launder;

/// The bytes that a place takes.
pub const LINE_BYTES: usize = 64;

/// The most places there can be: their numbers are kept in 32 bits while they are ordered.
pub const PLACES_MAX: usize = 1 << 31;

/// What stands at a place: where the next one is, and how many come before this one.
#[repr(C)]
#[derive(Debug)]
pub struct Place {
    next: *const Place,
    rank: u64,
}

/// A cycle of places in an arena.
#[derive(Debug)]
pub struct Chase {
    _arena: Arena,
    base: core::ptr::NonNull<u8>,
    stride: usize,
    count: usize,
}

// SAFETY: the places are written once, before they are shared.
unsafe impl Send for Chase {}
// SAFETY: as above.
unsafe impl Sync for Chase {}

impl Chase {
    /// Lays places `stride` bytes apart (a multiple of `LINE_BYTES`) into `bytes` of the arena.
    /// `below(n)` gives a random number below n. `None` where that makes fewer than two places or more
    /// than `PLACES_MAX`, or the arena has no room.
    pub fn new(
        arena: &Arena,
        bytes: usize,
        stride: usize,
        below: impl FnMut(u64) -> u64,
    ) -> Option<Self> {
        let count = bytes.checked_div(stride)?;
        let is_whole = stride.is_multiple_of(LINE_BYTES) && (2..=PLACES_MAX).contains(&count);
        let base = is_whole.then(|| arena.carve(count * stride, LINE_BYTES)).flatten()?;
        let chase = Self { _arena: arena.clone(), base, stride, count };
        let order = shuffled(count, below);
        let mut ranks = vec![0u32; count];
        for (rank, number) in order.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        // In the order of addresses: the memory is large, and this is not what is measured.
        for (number, rank) in ranks.into_iter().enumerate() {
            let following = order[(rank as usize + 1) % count] as usize;
            let place = Place { next: chase.place(following), rank: rank.into() };
            // SAFETY: the place lies inside what was carved, which nobody else has, on a line.
            unsafe { chase.place(number).cast_mut().write(place) };
        }
        Some(chase)
    }

    /// The number of places.
    pub fn places(&self) -> usize {
        self.count
    }

    /// The place of a number, which counts in the order of addresses.
    pub fn place(&self, number: usize) -> *const Place {
        let line = number % (self.stride / LINE_BYTES);
        self.base.as_ptr().wrapping_add(number * self.stride + line * LINE_BYTES).cast()
    }

    /// Whether `times` loads lead from one place to another.
    ///
    /// # Safety
    /// Both are places of this chase.
    pub unsafe fn leads(&self, from: *const Place, times: u64, to: *const Place) -> bool {
        // SAFETY: the caller promises that they are places.
        let (from, to) = unsafe { ((*from).rank, (*to).rank) };
        (from + times % self.count as u64) % self.count as u64 == to
    }
}

/// The numbers below `count` in an order, each order as likely as any other.
fn shuffled(count: usize, mut below: impl FnMut(u64) -> u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        order.swap(last, below(last as u64 + 1) as usize);
    }
    order
}

/// The type of [`assay_chase`].
pub type Function = unsafe extern "C" fn(*const Place, u64) -> *const Place;

/// Goes on from a place to the next, `times` times, and returns where that ends.
///
/// # Safety
/// `start` is a place of a `Chase` that is alive.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_chase(start: *const Place, times: u64) -> *const Place {
    let mut place = start;
    for _ in 0..times {
        // SAFETY: every place holds the address of another.
        place = unsafe { (*launder(place)).next };
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageMode;

    /// Numbers without a pattern: a linear congruential generator (Knuth's MMIX constants).
    fn below() -> impl FnMut(u64) -> u64 {
        let mut state = 7u64;
        move |bound| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        }
    }

    /// The slow twin of the order: a list in which each place looks for the next by its address.
    fn followed(chase: &Chase) -> Vec<usize> {
        let places: Vec<*const Place> = (0..chase.count).map(|n| chase.place(n)).collect();
        let mut number = 0;
        let mut visited = Vec::new();
        for _ in 0..chase.count {
            visited.push(number);
            // SAFETY: the place is alive.
            let next = unsafe { (*places[number]).next };
            number = places.iter().position(|place| *place == next).unwrap_or(usize::MAX);
        }
        assert_eq!(number, 0, "it comes back to the first");
        visited
    }

    #[test]
    #[allow(clippy::unwrap_used)] // A panic is how a test fails.
    fn a_chase_comes_to_every_place_once_before_it_comes_back() {
        for count in [2, 3, 4, 5, 64, 1000] {
            let arena = Arena::new(count * 64, PageMode::Small).unwrap();
            let chase = Chase::new(&arena, count * 64, 64, below()).unwrap();
            let mut visited = followed(&chase);
            visited.sort_unstable();
            assert_eq!(visited, (0..count).collect::<Vec<_>>());
        }
    }

    /// All that there are of four: none left out and none favoured.
    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let mut counts = std::collections::BTreeMap::<Vec<u32>, u32>::new();
        let mut below = below();
        for _ in 0..24_000 {
            *counts.entry(shuffled(4, &mut below)).or_default() += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
