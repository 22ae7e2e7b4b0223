//! A small hash table before a tree: keys that are looked up one by one are found without
//! descending. Built on the fly, from look-ups that found their key in the tree; not logged, and
//! never asked for order. The idea is SAP ASE's "hash cache B-tree" (Ma et al., WASET): a hash of
//! the hot, point-queried keys only, maintained by compare-and-swap.
//!
//! The table has a fixed size. A key has one bucket, a bucket is one cache line:
//!
//! | words | content |
//! |---|---|
//! | 0 | the bucket's state |
//! | 1..7 | three entries: key, reference (a key of `u64::MAX` marks an empty one) |
//! | 7 | unused |
//!
//! | state bits | meaning |
//! |---|---|
//! | 0 | a thread writes an entry |
//! | 1..16 | how many removals of keys of this bucket are under way |
//! | 16..64 | version: advances with each entry written and each removal ended |
//!
//! A bucket is *quiet* when bits 0..16 are 0.
//!
//! **Look-up.** Load the state (acquire) and look for the key. If the state was quiet and is still
//! the same afterwards (acquire fence, load), the entry is the answer. Otherwise ask the tree; if
//! it has the key, publish: compare-and-swap bit 0 into the state *loaded before the tree was
//! asked*, write the entry, and take bit 0 out again by compare-and-swap with the next version. If
//! the first swap fails, something happened meanwhile: do not publish. If the second fails, a
//! removal has begun: clear the entry first. Nobody waits for anybody.
//!
//! **Removal.** Add 1 to the removals under way, empty the key's entry, remove the key from the
//! tree, and in one step advance the version and take the 1 away.
//!
//! **Why no entry is ever stale.** Claim: whenever a bucket is quiet, each of its entries is what
//! the tree holds. Only a removal can make an entry wrong, because an insert never changes a key
//! that is there and no entry says that a key is absent; so inserts do not touch this table.
//!
//! * An entry that is there when a removal of its key begins is emptied before the tree changes.
//! * An entry cannot come while the removal is under way: the first swap expects a quiet state.
//! * A thread that had set bit 0 before the removal began fails its second swap, because the state
//!   has changed, and empties the entry while bit 0 still keeps readers away.
//! * A thread that had read the tree before the removal, and publishes after it, fails its first
//!   swap: it expects the version from before.
//! * A thread that loads the state after the removal ended sees the tree without the key (the
//!   removal's last step releases, the load acquires), and has nothing to publish.
//!
//! A look-up that answers from an entry found the bucket quiet before and unchanged after, so it
//! comes before every removal of the key that it could not know of. Once a thread could know that
//! a key is gone, even from a third one that met the tree in the middle of the removal, the entry
//! is not an answer any more: the mark was set before the tree changed. Emptying only *after* the
//! tree's change, or only before it, is not enough; `tests/loom_hash_cache.rs` shows loom rejecting
//! both, and publishing without either of the two comparisons.
//!
//! Phantoms: a miss is always the tree's answer, with its node. A hit depends on no node, as in a
//! tree.
//!
//! When a bucket is full the entry whose turn it is goes, which costs nothing to decide. That is
//! done at misses only, which also write the bucket's line: with more hot keys than entries every
//! look-up pays for both. `Caller::cache` has the hits and misses.

use core::ops::RangeInclusive;

use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Called, PrimitiveError};

use crate::{Caller, Find, Index, IndexError, NodeSet, NodeVersion, Visit};
use assay_primitives::sync::{AtomicU64, Ordering, fence};

/// Marks an empty entry. This one key is never kept here; the tree answers for it.
const NO_KEY: u64 = u64::MAX;
/// Entries of a bucket: what fits a cache line beside the state.
#[cfg(not(feature = "loom"))]
pub const ENTRIES_PER_BUCKET: usize = 3;
/// So that two keys suffice for a replacement in a model.
#[cfg(feature = "loom")]
pub const ENTRIES_PER_BUCKET: usize = 1;

const WRITING: u64 = 1;
const REMOVAL: u64 = 1 << 1;
const VERSION: u64 = 1 << 16;
const QUIET: u64 = VERSION - 1;

#[derive(Default)]
#[repr(C, align(64))]
struct Bucket {
    state: AtomicU64,
    entries: [Entry; ENTRIES_PER_BUCKET],
    unused: u64,
}

struct Entry {
    key: AtomicU64,
    reference: AtomicU64,
}

#[cfg(not(feature = "loom"))]
const _: () = assert!(size_of::<Bucket>() == 64);

impl Default for Entry {
    fn default() -> Self {
        Self { key: AtomicU64::new(NO_KEY), reference: AtomicU64::new(0) }
    }
}

impl Bucket {
    /// The reference of a key, if the bucket was in `state` and quiet all the while.
    #[inline(always)]
    fn find(&self, key: u64, state: u64) -> Option<u64> {
        if state & QUIET != 0 {
            return None;
        }
        for entry in &self.entries {
            if entry.key.load(Ordering::Relaxed) == key {
                let reference = entry.reference.load(Ordering::Relaxed);
                fence(Ordering::Acquire);
                let is_same = self.state.load(Ordering::Relaxed) == state;
                return is_same.then_some(reference);
            }
        }
        None
    }

    /// Keeps what the tree said, unless anything happened since the bucket was in `state`.
    #[cold]
    fn publish(&self, key: u64, reference: u64, state: u64) {
        let writing = state | WRITING;
        let (taken, failed) = (Ordering::Acquire, Ordering::Relaxed);
        if state & QUIET != 0 || self.state.compare_exchange(state, writing, taken, failed).is_err()
        {
            return;
        }
        // Readers that see one of the stores below also see that the state has changed.
        fence(Ordering::Release);
        let turn = (state / VERSION) as usize % ENTRIES_PER_BUCKET;
        let held = |wanted| {
            let mut keys = self.entries.iter().map(|entry| entry.key.load(Ordering::Relaxed));
            keys.position(|key| key == wanted)
        };
        let place = held(key).or_else(|| held(NO_KEY)).unwrap_or(turn);
        let entry = &self.entries[place];
        entry.reference.store(reference, Ordering::Relaxed);
        entry.key.store(key, Ordering::Relaxed);
        let written = state.wrapping_add(VERSION);
        if self.state.compare_exchange(writing, written, Ordering::Release, failed).is_err() {
            entry.key.store(NO_KEY, Ordering::Relaxed);
            self.state.fetch_add(VERSION - WRITING, Ordering::Release);
        }
    }

    /// Runs `change`, which removes the key from the tree, while no entry of the key exists.
    fn remove<T>(&self, key: u64, change: impl FnOnce() -> T) -> T {
        // Acquires the entries of whoever has published before.
        self.state.fetch_add(REMOVAL, Ordering::AcqRel);
        for entry in &self.entries {
            let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
            // The writer of another key may be replacing the entry: only this key goes.
            let _ = entry.key.compare_exchange(key, NO_KEY, order, failed);
        }
        let result = change();
        self.state.fetch_add(VERSION - REMOVAL, Ordering::Release);
        result
    }
}

/// A tree with a hash table of the keys that were looked up last.
pub struct HashCached<I> {
    tree: I,
    find: Called<Find<I>>,
    buckets: Box<[Bucket]>,
    mask: usize,
}

impl<I: Index> HashCached<I> {
    /// Puts a table for at least `entries` keys before a tree; the number of buckets is a power of
    /// two. The tree may hold keys already, and is reached only through the result.
    pub fn new(tree: I, entries: usize) -> Self {
        let count = entries.div_ceil(ENTRIES_PER_BUCKET).next_power_of_two();
        let buckets = (0..count).map(|_| Bucket::default()).collect();
        Self { tree, find: Called::new(I::find_function()), buckets, mask: count - 1 }
    }

    /// How many keys the table has room for.
    pub fn entries(&self) -> usize {
        self.buckets.len() * ENTRIES_PER_BUCKET
    }

    #[inline(always)]
    fn bucket(&self, key: u64) -> &Bucket {
        &self.buckets[crate::hash::mix(key) as usize & self.mask]
    }
}

impl<I: Index> HashCached<I> {
    /// [`Index::find`].
    pub fn cached_find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        if key == NO_KEY {
            return (self.find.function())(&self.tree, key, caller, nodes);
        }
        let bucket = self.bucket(key);
        let state = bucket.state.load(Ordering::Acquire);
        if let Some(reference) = bucket.find(key, state) {
            caller.cache.hits += 1;
            return Some(reference);
        }
        caller.cache.misses += 1;
        let reference = (self.find.function())(&self.tree, key, caller, nodes)?;
        bucket.publish(key, reference, state);
        Some(reference)
    }
}

// SAFETY: an entry is what the tree said, and a removal of the key takes it out before it returns (see the
// module).
unsafe impl<I: Index> Index for HashCached<I> {
    fn find_function() -> Find<Self> {
        Self::cached_find
    }

    fn find(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        self.cached_find(key, caller, nodes)
    }

    fn insert(
        &self,
        key: u64,
        reference: u64,
        caller: &mut Caller,
        nodes: &mut NodeSet,
    ) -> Result<bool, IndexError> {
        self.tree.insert(key, reference, caller, nodes)
    }

    fn remove(&self, key: u64, caller: &mut Caller, nodes: &mut NodeSet) -> Option<u64> {
        if key == NO_KEY {
            return self.tree.remove(key, caller, nodes);
        }
        self.bucket(key).remove(key, || self.tree.remove(key, caller, nodes))
    }

    fn scan(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        self.tree.scan(range, caller, nodes, visit)
    }

    fn scan_back(
        &self,
        range: RangeInclusive<u64>,
        caller: &mut Caller,
        nodes: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        self.tree.scan_back(range, caller, nodes, visit)
    }

    fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        self.tree.obtained()
    }

    fn validate(&self, seen: NodeVersion) -> bool {
        self.tree.validate(seen)
    }

    fn look_up_behind(&self) -> Option<Address> {
        Some(self.find.address())
    }
}
