//! A row as it lies in memory: words that are read and written as relaxed atomics.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | the header: belongs to concurrency control |
//! | 1 | the key |
//! | 2 | a second header word, in kinds whose prefix is three words |
//! | prefix.. | the bytes of the row, eight to a word, in the order of this machine |
//!
//! Whoever reads may see words of different moments and finds out from the header; that is legal
//! because every word is an atomic. Relaxed loads and stores of words compile to plain ones.

use core::ptr::NonNull;

use assay_primitives::sync::{AtomicU64, Ordering};

/// Where a row lies. Copying it copies the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(NonNull<AtomicU64>);

// SAFETY: a row is atomics only; where it lies is kept alive by the promise of `Row::at`.
unsafe impl Send for Row {}
// SAFETY: as above.
unsafe impl Sync for Row {}

impl Row {
    /// The row at an address.
    ///
    /// # Safety
    /// There are as many initialised words as the row's table and kind of concurrency control say;
    /// they are accessed as atomics only, and stay there as long as this value and its copies are
    /// used.
    #[inline(always)]
    pub unsafe fn at(words: NonNull<AtomicU64>) -> Self {
        Self(words)
    }

    /// Where it lies.
    #[inline(always)]
    pub fn address(&self) -> u64 {
        self.0.as_ptr().addr() as u64
    }

    #[inline(always)]
    fn word(&self, place: usize) -> &AtomicU64 {
        // SAFETY: the promise of `at`; callers stay within the row.
        unsafe { self.0.add(place).as_ref() }
    }

    /// The header.
    #[inline(always)]
    pub fn head(&self) -> &AtomicU64 {
        self.word(0)
    }

    /// The key.
    #[inline(always)]
    pub fn key(&self) -> &AtomicU64 {
        self.word(1)
    }

    /// The second header word, of kinds that have one.
    #[inline(always)]
    pub fn second(&self) -> &AtomicU64 {
        self.word(2)
    }

    /// Copies the row out; `row` is as long as the row, which is whole words.
    #[inline(always)]
    pub fn copy_to(&self, prefix: usize, row: &mut [u8]) {
        let (words, _) = row.as_chunks_mut();
        for (place, bytes) in words.iter_mut().enumerate() {
            *bytes = self.word(prefix + place).load(Ordering::Relaxed).to_ne_bytes();
        }
    }

    /// Replaces the row's words.
    #[inline(always)]
    pub fn set_words(&self, prefix: usize, words: &[u64]) {
        for (place, word) in words.iter().enumerate() {
            self.word(prefix + place).store(*word, Ordering::Relaxed);
        }
    }

    /// Replaces the row's words by those of another row of the same table.
    #[inline(always)]
    pub fn copy_from(&self, other: Row, prefix: usize, words: usize) {
        for place in prefix..prefix + words {
            let word = other.word(place).load(Ordering::Relaxed);
            self.word(place).store(word, Ordering::Relaxed);
        }
    }

    /// Asks for the first lines of the row to be brought near.
    #[inline(always)]
    pub fn prefetch(&self, bytes: usize) {
        for offset in (0..bytes.min(PREFETCH_BYTES)).step_by(64) {
            assay_index::prefetch(self.0.as_ptr().cast::<u8>().wrapping_add(offset));
        }
    }
}

/// The hardware follows a longer run by itself.
const PREFETCH_BYTES: usize = 256;
