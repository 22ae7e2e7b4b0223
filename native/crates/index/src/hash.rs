//! A latch-free hash index of fixed capacity: open addressing, linear probing, two words a slot.
//!
//! | key word | value word | meaning |
//! |---|---|---|
//! | `NO_KEY` | `NO_REFERENCE` | free |
//! | k | `NO_REFERENCE` | claimed for k for ever; k is absent (not yet inserted, or removed) |
//! | k | r | k is there with reference r |
//!
//! A slot goes to a key by one compare-and-swap of the key word and never to another, so keys do
//! not move, a probe ends at the first free slot, and a key is there exactly if its value word says
//! so: inserting and removing are one compare-and-swap of that word. The price is that capacity
//! counts every key *ever* inserted; a table that keeps getting new keys fills up (`Full`). The key
//! `u64::MAX`, which marks free slots, has a slot of its own beside the others.
//!
//! Phantoms: each segment of 64 slots has a version. A miss reads the version of the segment where
//! its probe ended and then looks again. An insert advances, after its change and before it
//! returns, the version of every segment that its probe touched, not only of the last: another key
//! may have claimed the slot where a miss ended without having advanced anything yet.
//!
//! Slots lie on pages of the run's kind ([`HashIndex::on_pages`]): a look-up at random in many
//! megabytes of 4 KiB pages misses the TLB as well as the cache. Versions, a 128th of that and read
//! at misses only, lie on the heap.
//!
//! Not here: growth, deletion of slots, order. A scan is [`IndexError::Unordered`].

use core::ops::RangeInclusive;

use assay_primitives::smaps::Mapped;
use assay_primitives::{PageMode, PrimitiveError};

use crate::caller::Restart;
use crate::slots::Slots;
use crate::{
    Caller, Find, Index, IndexError, NO_REFERENCE, NodeChange, NodeSet, NodeVersion, Visit,
};
use assay_primitives::sync::{AtomicU64, Ordering};

const NO_KEY: u64 = u64::MAX;
/// Slots that share a version: 1 KiB, as a tree's node.
#[cfg(not(feature = "loom"))]
const SEGMENT: usize = 64;
/// Loom pays for every word.
#[cfg(feature = "loom")]
const SEGMENT: usize = 2;

/// The index of kind "hash".
pub struct HashIndex {
    /// A power of two, and one more for the key `NO_KEY`.
    slots: Slots<Slot>,
    versions: Box<[AtomicU64]>,
    mask: usize,
}

#[repr(C, align(16))]
struct Slot {
    key: AtomicU64,
    value: AtomicU64,
}

impl Slot {
    fn free() -> Self {
        Self { key: AtomicU64::new(NO_KEY), value: AtomicU64::new(NO_REFERENCE) }
    }
}

/// Where a probe ended.
enum Probe {
    /// At the key's own slot.
    Occupied(usize),
    /// At a free slot, where the key would go.
    Free(usize),
}

impl HashIndex {
    /// A table on the heap, with room for `capacity` keys at up to three quarters full.
    pub fn new(capacity: usize) -> Self {
        Self::over(Slots::on_heap(Self::slot_count(capacity), Slot::free))
    }

    /// The same table on pages of one kind.
    ///
    /// # Errors
    /// When the host does not give them.
    pub fn on_pages(capacity: usize, mode: PageMode) -> Result<Self, PrimitiveError> {
        Slots::on_pages(Self::slot_count(capacity), Slot::free, mode).map(Self::over)
    }

    /// A power of two, and one more for the key `NO_KEY`.
    fn slot_count(capacity: usize) -> usize {
        (capacity.saturating_mul(4) / 3 + 1).next_power_of_two().max(SEGMENT) + 1
    }

    fn over(slots: Slots<Slot>) -> Self {
        let count = slots.len() - 1;
        let versions = (0..=count / SEGMENT).map(|_| AtomicU64::new(0)).collect();
        Self { slots, versions, mask: count - 1 }
    }

    /// `None` when every slot belongs to another key.
    #[inline(always)]
    fn probe(&self, key: u64) -> Option<Probe> {
        if key == NO_KEY {
            return Some(Probe::Occupied(self.mask + 1));
        }
        let mut place = mix(key) as usize & self.mask;
        for _ in 0..self.slots.len() - 1 {
            match self.slots[place].key.load(Ordering::Relaxed) {
                other if other == key => return Some(Probe::Occupied(place)),
                NO_KEY => return Some(Probe::Free(place)),
                _ => place = (place + 1) & self.mask,
            }
        }
        None
    }

    /// The slot of a key, taking a free one if it has none. Claiming changes no value and so no
    /// set of keys.
    fn claim(&self, key: u64) -> Result<usize, IndexError> {
        loop {
            match self.probe(key).ok_or(IndexError::Full)? {
                Probe::Occupied(place) => return Ok(place),
                Probe::Free(place) => {
                    let word = &self.slots[place].key;
                    let taken =
                        word.compare_exchange(NO_KEY, key, Ordering::Relaxed, Ordering::Relaxed);
                    if taken.is_ok() {
                        return Ok(place);
                    }
                }
            }
        }
    }

    /// A look-up that reports its miss. Apart from the rest of `find`, because a hit needs none of
    /// this.
    #[cold]
    #[inline(never)]
    fn find_again(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        caller.retry(|| {
            let Some(probe) = self.probe(key) else { return Ok(None) };
            let (Probe::Occupied(place) | Probe::Free(place)) = probe;
            let slot = &self.slots[place];
            if let Probe::Occupied(_) = probe {
                let found = slot.value.load(Ordering::Acquire);
                if found != NO_REFERENCE {
                    return Ok(Some(found));
                }
            }
            // The version first, then the slot once more: the miss is no older than the version.
            let version = self.version(place);
            let missed = match probe {
                Probe::Occupied(_) => slot.value.load(Ordering::Relaxed) == NO_REFERENCE,
                Probe::Free(_) => slot.key.load(Ordering::Relaxed) == NO_KEY,
            };
            if !missed {
                return Err(Restart);
            }
            nodes.saw((place / SEGMENT) as u64, version);
            Ok(None)
        })
    }

    fn version(&self, place: usize) -> u64 {
        self.versions[place / SEGMENT].load(Ordering::Acquire)
    }

    /// Advances the version of one segment.
    fn advance(&self, segment: usize, nodes: &mut NodeSet) {
        let before = self.versions[segment].fetch_add(1, Ordering::AcqRel);
        let seen = |version| NodeVersion { node: segment as u64, version };
        let now = seen(before.wrapping_add(1));
        nodes.changed(NodeChange { was: seen(before), now, upper: None, absorbed: None });
    }

    /// Advances the versions of all segments from the key's home to its slot.
    fn advance_path(&self, key: u64, place: usize, nodes: &mut NodeSet) {
        let last = place / SEGMENT;
        if key != NO_KEY {
            let segments = (self.mask + 1) / SEGMENT;
            let mut segment = (mix(key) as usize & self.mask) / SEGMENT;
            while segment != last {
                self.advance(segment, nodes);
                segment = (segment + 1) % segments;
            }
        }
        self.advance(last, nodes);
    }
}

/// The finaliser of MurmurHash3 (Austin Appleby, public domain): each bit of the key reaches each
/// bit of the result. Different keys stay different.
#[inline(always)]
pub(crate) fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ (key >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}

impl HashIndex {
    /// [`Index::find`].
    pub fn hash_find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        match self.peek(key) {
            None => self.find_again(key, caller, nodes),
            found => found,
        }
    }
}

// SAFETY: a slot belongs to one key for ever, and its reference is one atomic word.
unsafe impl Index for HashIndex {
    fn find_function() -> Find<Self> {
        Self::hash_find
    }

    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        self.hash_find(key, caller, nodes)
    }

    fn insert(
        &self,
        key: u64,
        reference: u64,
        _: &mut Caller,
        nodes: &mut NodeSet,
    ) -> Result<bool, IndexError> {
        assert_ne!(reference, NO_REFERENCE, "this value is not a row reference");
        let place = self.claim(key)?;
        let word = &self.slots[place].value;
        // Acquire: whoever adds a key again comes after whoever removed it.
        let (new, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        if word.compare_exchange(NO_REFERENCE, reference, new, failed).is_err() {
            return Ok(false);
        }
        self.advance_path(key, place, nodes);
        Ok(true)
    }

    fn remove(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        loop {
            // A miss is reported by `find`; after a hit the key's slot is its own for ever.
            self.find(key, caller, nodes)?;
            let Some(Probe::Occupied(place)) = self.probe(key) else { continue };
            let found = self.slots[place].value.swap(NO_REFERENCE, Ordering::AcqRel);
            if found != NO_REFERENCE {
                self.advance(place / SEGMENT, nodes);
                return Some(found);
            }
        }
    }

    fn scan(
        &self,
        _: RangeInclusive<u64>,
        _: &mut Caller,
        _: &mut NodeSet,
        _: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        Err(IndexError::Unordered)
    }

    fn scan_back(
        &self,
        _: RangeInclusive<u64>,
        _: &mut Caller,
        _: &mut NodeSet,
        _: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        Err(IndexError::Unordered)
    }

    fn each(&self, _: &mut Caller, visit: &mut dyn FnMut(u64, u64)) {
        for (place, slot) in self.slots.iter().enumerate() {
            let key = slot.key.load(Ordering::Relaxed);
            let found = slot.value.load(Ordering::Acquire);
            // The last slot is that of the key `NO_KEY`, which everywhere else means a free one.
            if found != NO_REFERENCE && (key != NO_KEY || place == self.mask + 1) {
                visit(key, found);
            }
        }
    }

    fn validate(&self, seen: NodeVersion) -> bool {
        let version = self.versions.get(seen.node as usize);
        version.is_some_and(|version| version.load(Ordering::Acquire) == seen.version)
    }

    fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        self.slots.obtained()
    }

    #[inline]
    fn prefetch(&self, key: u64) {
        crate::prefetch(&raw const self.slots[mix(key) as usize & self.mask]);
    }

    #[inline(always)]
    fn peek(&self, key: u64) -> Option<u64> {
        let Some(Probe::Occupied(place)) = self.probe(key) else { return None };
        let found = self.slots[place].value.load(Ordering::Acquire);
        (found != NO_REFERENCE).then_some(found)
    }
}
