//! The node that both trees share: 1 KiB with room for 61 entries, sorted by key.
//!
//! In a leaf an entry is a key and a row reference. In an inner node it is a child's lowest key and
//! the child's number. Every word is a relaxed atomic, which compiles to plain loads and stores: an
//! optimistic reader may see words of different moments and finds out afterwards, which is legal
//! only for atomics. So no function here may trust what it reads beyond array bounds.
//!
//! A node covers the keys from `low` to `last`. `low` does not change while the node lives: a split
//! moves the upper part into another node, a merge moves all entries into the left neighbour. So a
//! scan that has read a leaf can go on above its `last` at any later time, whatever has become of
//! the nodes there. The root stays in place: it hands all its entries to two other nodes when it
//! splits, and is never merged.
//!
//! Nodes are freed at empty: a leaf that loses its last entry is merged with a neighbour, never one
//! that still has some, because nodes half empty fill up again and cost little (Johnson and Shasha,
//! "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half", JCSS 1993).
//! An inner node with one child left counts as empty: it goes when the leaf below it does.
//! Neighbours are merged under the same parent only. A node that was merged away is dead until its
//! number is used again; its version goes on counting.

use assay_primitives::sync::{AtomicU32, AtomicU64, Ordering};

/// Entries in a node.
#[cfg(not(feature = "loom"))]
pub const CAPACITY: usize = 61;
/// Loom pays for every word.
#[cfg(feature = "loom")]
pub const CAPACITY: usize = 4;

const NO_NODE: u64 = u64::MAX;
const LEAF: u32 = 0;
/// The level of a node that is in no tree any more.
const DEAD: u32 = u32::MAX;

/// A protocol's word or words (`H`), and what they protect.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Node<H> {
    /// The version, or the latch and the version.
    pub head: H,
    /// The rest.
    pub body: Body,
}

#[cfg(not(feature = "loom"))]
const _: () = assert!(size_of::<Node<[u64; 2]>>() == 1024);

/// An entry copied out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: u64,
    /// The row reference.
    pub reference: u64,
}

/// Two neighbours under one parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The number of the lower.
    pub left: u64,
    /// The number of the upper.
    pub right: u64,
    /// The upper's place in the parent.
    pub place: usize,
}

/// What a scan needs of a leaf, copied out in one consistent moment.
#[derive(Clone, Copy, Debug)]
pub struct LeafCopy {
    entries: [Entry; CAPACITY],
    count: usize,
    /// The lowest key that the leaf covers.
    pub low: u64,
    /// The highest key that the leaf covers.
    pub last: u64,
    /// The leaf that covered the keys above at that moment. See [`Body::is_leaf_from`].
    pub next: Option<u64>,
}

impl LeafCopy {
    /// The entries within a range.
    pub fn entries(&self) -> &[Entry] {
        &self.entries[..self.count]
    }
}

/// Entries and bounds. The default is an empty leaf of all keys.
#[repr(C)]
pub struct Body {
    count: AtomicU32,
    level: AtomicU32,
    low: AtomicU64,
    last: AtomicU64,
    next: AtomicU64,
    keys: [AtomicU64; CAPACITY],
    slots: [AtomicU64; CAPACITY],
}

impl Default for Body {
    fn default() -> Self {
        let zeroes = || core::array::from_fn(|_| AtomicU64::new(0));
        Self {
            count: AtomicU32::new(0),
            level: AtomicU32::new(LEAF),
            low: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            next: AtomicU64::new(NO_NODE),
            keys: zeroes(),
            slots: zeroes(),
        }
    }
}

#[inline(always)]
fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

#[inline(always)]
fn set(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

impl Body {
    /// Whether the entries are row references.
    #[inline(always)]
    pub fn is_leaf(&self) -> bool {
        self.level() == LEAF
    }

    /// Whether this is a live leaf that covers the keys from `low` on. A link to a neighbour that
    /// was read earlier may name a node that is dead by now, or used again elsewhere.
    #[inline(always)]
    pub fn is_leaf_from(&self, low: u64) -> bool {
        self.is_leaf() && get(&self.low) == low
    }

    /// Whether there is more than one child.
    #[inline(always)]
    pub fn is_fork(&self) -> bool {
        self.count() > 1
    }

    /// Whether it holds nothing that tells keys apart: a leaf without entries, or an inner node
    /// with one child.
    #[inline(always)]
    pub fn is_sparse(&self) -> bool {
        self.count() == usize::from(!self.is_leaf())
    }

    /// Whether there is no room for another entry.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.count() == CAPACITY
    }

    /// The row reference or child at a place.
    #[inline(always)]
    pub fn slot(&self, place: usize) -> u64 {
        get(&self.slots[place])
    }

    /// The place of a key, or the place where it belongs.
    #[inline(always)]
    pub fn position(&self, key: u64) -> Result<usize, usize> {
        let count = self.count();
        let place = self.count_while(count, |other| other < key);
        if place < count && get(&self.keys[place]) == key { Ok(place) } else { Err(place) }
    }

    /// The child that covers a key.
    #[inline(always)]
    pub fn child(&self, key: u64) -> u64 {
        self.slot(self.child_place(key))
    }

    #[inline(always)]
    fn child_place(&self, key: u64) -> usize {
        let not_above = self.count_while(self.count(), |low| low <= key);
        not_above.saturating_sub(1)
    }

    /// Puts an entry before the one at `place`. The node must not be full.
    pub fn insert_at(&self, place: usize, key: u64, slot: u64) {
        let count = self.count();
        for to in (place + 1..=count).rev() {
            set(&self.keys[to], get(&self.keys[to - 1]));
            set(&self.slots[to], get(&self.slots[to - 1]));
        }
        set(&self.keys[place], key);
        set(&self.slots[place], slot);
        self.set_count(count + 1);
    }

    /// Takes the entry at `place` out.
    pub fn remove_at(&self, place: usize) {
        let count = self.count();
        for to in place..count - 1 {
            set(&self.keys[to], get(&self.keys[to + 1]));
            set(&self.slots[to], get(&self.slots[to + 1]));
        }
        self.set_count(count - 1);
    }

    /// The child that covers a key with each of its neighbours under this parent, in the order in
    /// which merging them should be tried. The upper one first, which makes the front of a queue
    /// stay one node; but a lower one that is itself sparse goes before that, so that a merge which
    /// was given up is made good by the next. `is_sparse` may be out of date.
    pub fn pairs(&self, key: u64, is_sparse: impl Fn(u64) -> bool) -> [Option<Pair>; 2] {
        let place = self.child_place(key);
        let pair = |upper: usize| {
            (upper > 0 && upper < self.count()).then(|| Pair {
                left: self.slot(upper - 1),
                right: self.slot(upper),
                place: upper,
            })
        };
        let (below, above) = (pair(place), pair(place + 1));
        if below.is_some_and(|pair| is_sparse(pair.left)) { [below, above] } else { [above, below] }
    }

    /// Whether one of two neighbours is sparse and there is room for both in one.
    pub fn can_absorb(&self, right: &Body) -> bool {
        (self.is_sparse() || right.is_sparse()) && self.count() + right.count() <= CAPACITY
    }

    /// Takes over the entries and the range of `right`, the next child of the same parent, in which
    /// that has the place `place`. `right` is dead afterwards. All three are the caller's alone.
    pub fn absorb(&self, right: &Body, parent: &Body, place: usize) {
        let count = self.count();
        for from in 0..right.count() {
            set(&self.keys[count + from], get(&right.keys[from]));
            set(&self.slots[count + from], right.slot(from));
        }
        self.set_count(count + right.count());
        set(&self.last, get(&right.last));
        set(&self.next, get(&right.next));
        parent.remove_at(place);
        right.set_count(0);
        right.set_level(DEAD);
    }

    /// Moves the upper half into `upper`, an unused node of number `upper_id`, and enters that in
    /// the parent, which has room. All three are the caller's alone.
    pub fn split(&self, upper: &Body, upper_id: u64, parent: &Body) {
        let middle = self.count() / 2;
        self.copy_upper(middle, upper);
        self.set_count(middle);
        let low = get(&upper.low);
        set(&self.last, low - 1);
        set(&self.next, upper_id);
        let place = parent.count_while(parent.count(), |other| other < low);
        parent.insert_at(place, low, upper_id);
    }

    /// Moves the entries of the root into two unused nodes and makes them its children. All three
    /// are the caller's alone.
    pub fn split_root(&self, (lower_id, lower): (u64, &Body), (upper_id, upper): (u64, &Body)) {
        let middle = self.count() / 2;
        self.copy_upper(middle, upper);
        self.set_count(middle);
        self.copy_upper(0, lower);
        set(&lower.low, get(&self.low));
        set(&lower.last, get(&upper.low) - 1);
        set(&lower.next, upper_id);
        self.set_level(self.level() + 1);
        self.set_count(0);
        self.insert_at(0, get(&lower.low), lower_id);
        self.insert_at(1, get(&upper.low), upper_id);
    }

    /// Copies the entries with keys from `from` to `to`.
    pub fn copy(&self, from: u64, to: u64) -> LeafCopy {
        let count = self.count();
        let start = self.count_while(count, |key| key < from);
        let end = self.count_while(count, |key| key <= to).max(start);
        let mut entries = [Entry::default(); CAPACITY];
        for (entry, place) in entries.iter_mut().zip(start..end) {
            *entry = Entry { key: get(&self.keys[place]), reference: self.slot(place) };
        }
        let next = Some(get(&self.next)).filter(|&id| id != NO_NODE);
        LeafCopy { entries, count: end - start, low: get(&self.low), last: get(&self.last), next }
    }

    fn copy_upper(&self, from: usize, other: &Body) {
        for (to, place) in (from..self.count()).enumerate() {
            set(&other.keys[to], get(&self.keys[place]));
            set(&other.slots[to], self.slot(place));
        }
        other.set_count(self.count() - from);
        other.set_level(self.level());
        set(&other.low, get(&other.keys[0]));
        set(&other.last, get(&self.last));
        set(&other.next, get(&self.next));
    }

    /// Never beyond the arrays, whatever a reader sees.
    #[inline(always)]
    fn count(&self) -> usize {
        (self.count.load(Ordering::Relaxed) as usize).min(CAPACITY)
    }

    #[inline(always)]
    fn set_count(&self, count: usize) {
        self.count.store(count as u32, Ordering::Relaxed);
    }

    #[inline(always)]
    fn level(&self) -> u32 {
        self.level.load(Ordering::Relaxed)
    }

    fn set_level(&self, level: u32) {
        self.level.store(level, Ordering::Relaxed);
    }

    /// How many of the first `count` keys, which are sorted, fulfil a condition that holds for
    /// small keys only. Halves without branching on the keys.
    #[inline(always)]
    fn count_while(&self, count: usize, condition: impl Fn(u64) -> bool) -> usize {
        let mut start = 0;
        let mut length = count;
        while length > 1 {
            let half = length / 2;
            let step = usize::from(condition(get(&self.keys[start + half - 1]))) * half;
            start += step;
            length -= half;
        }
        start + usize::from(length == 1 && condition(get(&self.keys[start])))
    }
}
