//! Rows that are read without a lock: a version word, odd while a writer is inside, and the
//! record as words.
//!
//! For indexes that map a key to a number only. Words are atomic because a reader may look while a
//! writer writes; what it copied then counts only if the version stood still.
//!
//! | version | meaning |
//! |---|---|
//! | even | whole; the number of updates times two |
//! | odd | a writer is inside |

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use crate::peer::Field;

const WORD: usize = 8;

/// A fixed number of rows of one size.
#[derive(Debug)]
pub struct SeqRows {
    words: Box<[AtomicU64]>,
    /// Words of a row, its version included.
    stride: usize,
    next: AtomicUsize,
}

impl SeqRows {
    /// Room for `capacity` records of `record_bytes` bytes.
    pub fn new(capacity: usize, record_bytes: usize) -> Self {
        let stride = 1 + record_bytes.div_ceil(WORD);
        let words = (0..capacity * stride).map(|_| AtomicU64::new(0)).collect();
        Self { words, stride, next: AtomicUsize::new(0) }
    }

    /// Fills a fresh row; `None` when there is no room left.
    pub fn add(&self, record: &[u8]) -> Option<usize> {
        let row = self.next.fetch_add(1, Ordering::Relaxed);
        let words = self.row(row)?;
        for (word, bytes) in words[1..].iter().zip(record.chunks(WORD)) {
            word.store(word_of(bytes), Ordering::Relaxed);
        }
        // Whoever finds the row's number in the index sees these words: the index publishes it.
        Some(row)
    }

    /// Copies a whole record out; false when there is no such row.
    #[inline]
    pub fn read(&self, row: usize, copy: &mut [u8]) -> bool {
        let Some(words) = self.row(row) else { return false };
        let (version, record) = (&words[0], &words[1..]);
        loop {
            let before = version.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let (whole, rest) = copy.as_chunks_mut::<WORD>();
                for (bytes, word) in whole.iter_mut().zip(record) {
                    *bytes = word.load(Ordering::Relaxed).to_le_bytes();
                }
                if let Some(word) = record.get(whole.len()) {
                    let bytes = word.load(Ordering::Relaxed).to_le_bytes();
                    rest.copy_from_slice(&bytes[..rest.len()]);
                }
                fence(Ordering::Acquire);
                if version.load(Ordering::Relaxed) == before {
                    return true;
                }
            }
            std::hint::spin_loop();
        }
    }

    /// Writes one field; false when there is no such row.
    #[inline]
    pub fn write(&self, row: usize, field: Field<'_>) -> bool {
        let Some(words) = self.row(row) else { return false };
        let (version, record) = (&words[0], &words[1..]);
        let before = lock(version);
        let mut at = field.number * field.bytes.len();
        let mut rest = field.bytes;
        while !rest.is_empty() {
            let (place, offset) = (at / WORD, at % WORD);
            let count = rest.len().min(WORD - offset);
            let (part, left) = rest.split_at(count);
            let mut bytes = record[place].load(Ordering::Relaxed).to_le_bytes();
            bytes[offset..offset + count].copy_from_slice(part);
            record[place].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
            (at, rest) = (at + count, left);
        }
        version.store(before + 2, Ordering::Release);
        true
    }

    #[inline]
    fn row(&self, row: usize) -> Option<&[AtomicU64]> {
        self.words.get(row * self.stride..(row + 1) * self.stride)
    }
}

/// Makes the version odd; returns what it was.
#[inline]
fn lock(version: &AtomicU64) -> u64 {
    loop {
        let before = version.load(Ordering::Relaxed);
        let is_free = before.is_multiple_of(2);
        let swap = |to| version.compare_exchange(before, to, Ordering::Acquire, Ordering::Relaxed);
        if is_free && swap(before + 1).is_ok() {
            // A reader that sees one of the words that follow also sees the odd version.
            fence(Ordering::Release);
            return before;
        }
        std::hint::spin_loop();
    }
}

fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_lands_in_its_place_and_nowhere_else() {
        let rows = SeqRows::new(2, 30);
        let mut expected: Vec<u8> = (0..30).collect();
        assert_eq!((rows.add(&[9; 30]), rows.add(&expected)), (Some(0), Some(1)));
        assert_eq!(rows.add(&[9; 30]), None, "no room");
        let field = Field { number: 1, bytes: &[77; 10] };
        field.write_to(&mut expected);
        assert!(rows.write(1, field));
        let mut copy = [0; 30];
        assert!(rows.read(1, &mut copy));
        assert_eq!(copy.as_slice(), expected);
        assert!(rows.read(0, &mut copy) && copy == [9; 30]);
        assert!(!rows.read(2, &mut copy));
    }
}
