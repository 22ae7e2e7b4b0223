//! The word of a slot: two counters and a state, changed by single atomic operations.
//!
//! | bits | meaning |
//! |---|---|
//! | 0..30 | acquisitions |
//! | 30..60 | releases |
//! | 62 | occupied: the slot belongs to a page, or to the thread that fills or empties it |
//! | 63 | visible: the slot holds a page; it stays as long as somebody has pinned it |
//!
//! | occupied | visible | state | counters |
//! |---|---|---|---|
//! | 0 | 0 | empty | without meaning |
//! | 1 | 0 | under construction by one thread | without meaning |
//! | 1 | 1 | holds a page | their difference is the number of pins |
//!
//! A look-up adds one acquisition and learns from the same operation whether the slot is visible;
//! if it is not, the addition changed nothing that has a meaning and is not taken back (it could
//! not be: the slot may have become visible since). While nobody has the page pinned both counters
//! are equal, and the CLOCK takes `min(3, acquisitions)` as the number of rounds the page may
//! still stay.
//!
//! **Overflow.** A release that finds its counter in the upper half clears the top bits of both
//! counters at once, if both are set: that takes the same number from each. The acquisitions would
//! run over only with 2^29 pins at once. The bit of weight four must be set as well, so that a page
//! in constant use does not look unused afterwards.
//!
//! **Orders.** Acquiring is an acquire operation: who pins sees the page complete. Releasing is a
//! release operation, and every operation that changes the word is a read-modify-write, so the
//! take-over comes after everything that was done under any earlier pin. (Publishing and clearing
//! could be plain stores, as in RocksDB: additions to an invisible slot may be overwritten. Loom
//! does not know that nothing comes between the two halves of an addition and would order them
//! after the store; a swap costs nothing next to a miss.)

use assay_primitives::sync::{AtomicU64, Ordering};

const COUNT_BITS: u32 = 30;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const ACQUIRE_ONE: u64 = 1;
const RELEASE_ONE: u64 = 1 << COUNT_BITS;
const OCCUPIED: u64 = 1 << 62;
const VISIBLE: u64 = 1 << 63;

/// Rounds of the clock that a page survives after its last use, at most.
pub const COUNTDOWN_MAX: u64 = 3;

const TOP_OF_ACQUIRES: u64 = ACQUIRE_ONE << (COUNT_BITS - 1);
const TOP_OF_RELEASES: u64 = RELEASE_ONE << (COUNT_BITS - 1);
const TOPS: u64 = TOP_OF_ACQUIRES | TOP_OF_RELEASES;
/// Near overflow, with enough left below the top bit for the longest countdown.
const NEAR_OVERFLOW: u64 = TOP_OF_RELEASES | (RELEASE_ONE * (COUNTDOWN_MAX + 1));

/// The word.
pub struct Meta(AtomicU64);

impl Default for Meta {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Meta {
    /// Pins the slot if it is visible, which the answer says.
    #[inline(always)]
    pub fn acquire(&self) -> bool {
        self.0.fetch_add(ACQUIRE_ONE, Ordering::Acquire) & VISIBLE != 0
    }

    /// Takes back a pin as if it had never been: it does not count as a use.
    #[inline(always)]
    pub fn undo(&self) {
        self.0.fetch_sub(ACQUIRE_ONE, Ordering::Release);
    }

    /// Gives back a pin.
    #[inline(always)]
    pub fn release(&self) {
        let before = self.0.fetch_add(RELEASE_ONE, Ordering::Release);
        if before & NEAR_OVERFLOW == NEAR_OVERFLOW {
            self.lower_counters();
        }
    }

    #[cold]
    fn lower_counters(&self) {
        let lowered = |word: u64| (word & TOPS == TOPS).then_some(word & !TOPS);
        // Somebody else may have done it meanwhile; then there is nothing to do.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lowered);
    }

    /// Claims an empty slot for construction.
    #[inline]
    pub fn claim(&self) -> bool {
        // The load spares occupied slots on the way a write.
        self.0.load(Ordering::Relaxed) & OCCUPIED == 0
            && self.0.fetch_or(OCCUPIED, Ordering::Acquire) & OCCUPIED == 0
    }

    /// Makes a constructed slot visible, pinned by the caller.
    #[inline]
    pub fn publish(&self) {
        self.0.swap(VISIBLE | OCCUPIED | ACQUIRE_ONE, Ordering::Release);
    }

    /// One pass of the clock: true if the page may be evicted now; otherwise, if nobody has it
    /// pinned, its countdown has been lowered.
    #[inline]
    pub fn pass(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let (acquires, releases) = (word & COUNT_MASK, (word >> COUNT_BITS) & COUNT_MASK);
        if word & VISIBLE == 0 || acquires != releases {
            return false;
        }
        if acquires > 0 {
            let count = (acquires - 1).min(COUNTDOWN_MAX - 1);
            let lowered = VISIBLE | OCCUPIED | (count * (ACQUIRE_ONE + RELEASE_ONE));
            let relaxed = Ordering::Relaxed;
            // Without a loop: who came in between has used the page, and it stays anyway.
            let _ = self.0.compare_exchange(word, lowered, relaxed, relaxed);
        }
        acquires == 0
    }

    /// Takes a slot over for emptying, if nobody has it pinned but the caller and nobody has used
    /// it since its countdown ended. The caller's pin is gone then, and the slot invisible.
    #[inline]
    pub fn take(&self) -> bool {
        let pinned_once = VISIBLE | OCCUPIED | ACQUIRE_ONE;
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.0.compare_exchange(pinned_once, OCCUPIED, acquire, relaxed).is_ok()
    }

    /// Ends the emptying: the slot is empty.
    #[inline]
    pub fn clear(&self) {
        self.0.swap(0, Ordering::Release);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    fn counts(meta: &Meta) -> (u64, u64) {
        let word = meta.0.load(Ordering::Relaxed);
        assert_eq!(
            word & !(COUNT_MASK | (COUNT_MASK << COUNT_BITS)),
            VISIBLE | OCCUPIED,
            "{word:x}"
        );
        (word & COUNT_MASK, (word >> COUNT_BITS) & COUNT_MASK)
    }

    fn used(count: u64) -> Meta {
        Meta(AtomicU64::new(VISIBLE | OCCUPIED | (count * (ACQUIRE_ONE + RELEASE_ONE))))
    }

    #[test]
    fn counters_never_run_over_and_pins_stay_right() {
        let half = 1 << (COUNT_BITS - 1);
        for start in [0, half - 21, half - 20, half - 1, half, half + 3, 2 * half - 100] {
            let meta = used(start);
            for step in 0..60 {
                for _ in 0..3 {
                    assert!(meta.acquire());
                }
                let (acquires, releases) = counts(&meta);
                assert_eq!(acquires.wrapping_sub(releases), 3, "step {step} from {start}");
                for _ in 0..3 {
                    meta.release();
                }
                let (acquires, releases) = counts(&meta);
                assert_eq!(acquires, releases);
                assert!(acquires < half + 8 || step < 4, "{acquires} from {start}");
                assert!(acquires >= COUNTDOWN_MAX, "a page in constant use looks used");
            }
        }
    }

    #[test]
    fn a_page_survives_as_many_passes_as_its_countdown() {
        for (uses, passes) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (1000, 3)] {
            let meta = used(uses);
            for _ in 0..passes {
                assert!(!meta.pass());
            }
            assert!(meta.pass(), "{uses} uses");
            assert!(meta.acquire() && meta.take());
        }
    }

    #[test]
    fn a_pinned_page_is_neither_aged_nor_taken() {
        let meta = used(2);
        assert!(meta.acquire());
        for _ in 0..10 {
            assert!(!meta.pass());
        }
        meta.undo();
        assert_eq!(counts(&meta), (2, 2));
        assert!(!meta.pass() && !meta.pass() && meta.pass());
        assert!(meta.acquire() && meta.acquire());
        assert!(!meta.take(), "somebody else has it pinned");
        meta.release();
        assert!(!meta.take(), "somebody else has used it");
    }
}
