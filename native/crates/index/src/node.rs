//! The node that both trees share: 1 KiB with room for 61 entries, sorted by key.
//!
//! In a leaf an entry is a key and a row reference. In an inner node it is a child's lowest key and
//! the child's number. Every word is a relaxed atomic, which compiles to plain loads and stores: an
//! optimistic reader may see words of different moments and finds out afterwards, which is legal
//! only for atomics. So no function here may trust what it reads beyond array bounds.
//!
//! A node covers the keys from `low` to `high`. `low` never changes (a split moves the upper part
//! into a new node), so a scan that has read a leaf can go on at its neighbour at any later time.
//! The root is the exception: it stays in place and hands all its entries to two new nodes.

use crate::sync::{AtomicU64, Ordering};

/// Entries in a node.
#[cfg(not(loom))]
pub const CAPACITY: usize = 61;
/// Loom pays for every word.
#[cfg(loom)]
pub const CAPACITY: usize = 4;

const NO_NODE: u64 = u64::MAX;

/// A protocol's word or words (`H`), and what they protect.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Node<H> {
    /// The version, or the latch and the version.
    pub head: H,
    /// The rest.
    pub body: Body,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Node<[u64; 2]>>() == 1024);

/// An entry copied out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: u64,
    /// The row reference.
    pub reference: u64,
}

/// What a scan needs of a leaf, copied out in one consistent moment.
#[derive(Clone, Copy, Debug)]
pub struct LeafCopy {
    entries: [Entry; CAPACITY],
    count: usize,
    /// The lowest key that the leaf covers.
    pub low: u64,
    /// The leaf that covers the keys above, unless a key above the range is in this one.
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
    count: AtomicU64,
    level: AtomicU64,
    low: AtomicU64,
    next: AtomicU64,
    keys: [AtomicU64; CAPACITY],
    slots: [AtomicU64; CAPACITY],
}

impl Default for Body {
    fn default() -> Self {
        let zeroes = || core::array::from_fn(|_| AtomicU64::new(0));
        Self {
            count: AtomicU64::new(0),
            level: AtomicU64::new(0),
            low: AtomicU64::new(0),
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
        get(&self.level) == 0
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
        let not_above = self.count_while(self.count(), |low| low <= key);
        self.slot(not_above.saturating_sub(1))
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
        set(&self.count, count as u64 + 1);
    }

    /// Takes the entry at `place` out.
    pub fn remove_at(&self, place: usize) {
        let count = self.count();
        for to in place..count - 1 {
            set(&self.keys[to], get(&self.keys[to + 1]));
            set(&self.slots[to], get(&self.slots[to + 1]));
        }
        set(&self.count, count as u64 - 1);
    }

    /// Moves the upper half into `upper`, an unused node of number `upper_id`, and enters that in
    /// the parent, which has room. All three are the caller's alone.
    pub fn split(&self, upper: &Body, upper_id: u64, parent: &Body) {
        let middle = self.count() / 2;
        self.copy_upper(middle, upper);
        set(&self.count, middle as u64);
        set(&self.next, upper_id);
        let low = get(&upper.low);
        let place = parent.count_while(parent.count(), |other| other < low);
        parent.insert_at(place, low, upper_id);
    }

    /// Moves the entries of the root into two unused nodes and makes them its children. All three
    /// are the caller's alone.
    pub fn split_root(&self, (lower_id, lower): (u64, &Body), (upper_id, upper): (u64, &Body)) {
        let middle = self.count() / 2;
        self.copy_upper(middle, upper);
        set(&self.count, middle as u64);
        self.copy_upper(0, lower);
        set(&lower.low, get(&self.low));
        set(&lower.next, upper_id);
        set(&self.level, get(&self.level) + 1);
        set(&self.count, 0);
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
        let next = Some(get(&self.next)).filter(|&id| id != NO_NODE && end == count);
        LeafCopy { entries, count: end - start, low: get(&self.low), next }
    }

    fn copy_upper(&self, from: usize, other: &Body) {
        for (to, place) in (from..self.count()).enumerate() {
            set(&other.keys[to], get(&self.keys[place]));
            set(&other.slots[to], self.slot(place));
        }
        set(&other.count, (self.count() - from) as u64);
        set(&other.level, get(&self.level));
        set(&other.low, get(&other.keys[0]));
        set(&other.next, get(&self.next));
    }

    /// Never beyond the arrays, whatever a reader sees.
    #[inline(always)]
    fn count(&self) -> usize {
        (get(&self.count) as usize).min(CAPACITY)
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
