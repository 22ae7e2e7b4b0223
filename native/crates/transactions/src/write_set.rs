//! What a transaction will write, in private memory until it commits.

use crate::row::Row;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing yet: it was read for update.
    Held,
    /// It gets the words at `Entry::data`.
    Put,
    /// It goes.
    Delete,
}

/// One row of the write set.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: u64,
    pub row: Row,
    pub reference: u64,
    /// The header before this transaction, where the kind needs it.
    pub before: u64,
    /// The first of the row's words in the set's memory.
    pub data: usize,
    pub table: usize,
    pub change: Change,
    /// The row was put into the index by this transaction.
    pub is_fresh: bool,
    /// There was no row before this transaction.
    pub was_absent: bool,
}

impl Entry {
    /// Whether commit leaves something different behind.
    #[inline(always)]
    pub fn is_change(&self) -> bool {
        match self.change {
            Change::Held => false,
            Change::Put => true,
            Change::Delete => !self.was_absent,
        }
    }
}

const FILTER_WORDS: usize = 8;

/// The set. Few rows: found by comparing, after a filter has said that there may be something.
#[derive(Default)]
pub struct WriteSet {
    pub entries: Vec<Entry>,
    filter: [u64; FILTER_WORDS],
    data: Vec<u64>,
}

#[inline(always)]
fn filter_bit(table: usize, key: u64) -> (usize, u64) {
    let mixed = (key ^ (table as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 61) as usize, 1 << (mixed >> 55 & 63))
}

impl WriteSet {
    /// The place of a row that the transaction writes or holds.
    #[inline(always)]
    pub fn find(&self, table: usize, key: u64) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let (word, bit) = filter_bit(table, key);
        if self.filter[word] & bit == 0 {
            return None;
        }
        self.entries.iter().position(|entry| entry.key == key && entry.table == table)
    }

    /// Adds a row that is not there yet.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let (word, bit) = filter_bit(entry.table, entry.key);
        self.filter[word] |= bit;
        self.entries.push(entry);
    }

    /// Sets what a row of the set becomes.
    #[inline]
    pub fn put(&mut self, place: usize, row: &[u8]) {
        let entry = &mut self.entries[place];
        if entry.data == NO_DATA {
            entry.data = self.data.len();
            self.data.extend(words_of(row));
        } else {
            let words = &mut self.data[entry.data..entry.data + row.len() / 8];
            words.iter_mut().zip(words_of(row)).for_each(|(to, from)| *to = from);
        }
        entry.change = Change::Put;
    }

    /// The words that a row of the set becomes.
    #[inline]
    pub fn words(&self, entry: &Entry, words: usize) -> &[u64] {
        &self.data[entry.data..entry.data + words]
    }

    /// As `words`, as bytes.
    #[inline]
    pub fn bytes(&self, entry: &Entry, words: usize) -> &[u8] {
        let words = self.words(entry, words);
        // SAFETY: any initialised words are valid bytes, eight times as many.
        unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
    }

    /// Whether commit has nothing to install or unlink.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Changes first, in the order of their addresses; returns how many there are.
    pub fn sort(&mut self) -> usize {
        self.entries.sort_unstable_by_key(|entry| (!entry.is_change(), entry.row));
        self.entries.partition_point(Entry::is_change)
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.entries.clear();
            self.data.clear();
            self.filter = [0; FILTER_WORDS];
        }
    }
}

/// An entry without words.
pub const NO_DATA: usize = usize::MAX;

/// The whole words of a row. Chunks of a fixed size, because for others each word is copied by a call.
#[inline(always)]
pub fn words_of(row: &[u8]) -> impl Iterator<Item = u64> {
    let (words, _) = row.as_chunks();
    words.iter().map(|bytes| u64::from_ne_bytes(*bytes))
}
