//! A lock in one word of a row, shared or exclusive, that knows the age of its oldest holder.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | held exclusively |
//! | 1..13 | how often it is held shared; one transaction may count more than once |
//! | 13..64 | the smallest timestamp of the holders since the lock was last free |
//!
//! All zero is free. The timestamp is not raised when the oldest of several readers leaves: then a
//! transaction may die that could have waited, and nothing worse. Timestamps are unique, so a word
//! that carries a transaction's own timestamp says that it is the oldest holder itself.
//!
//! Wait-die (Rosenkrantz, Stearns, Lewis, TODS 1978): a transaction waits only while it is older
//! than every holder, and looks again each time the word changes. So of each two that wait for each
//! other one is not older, and no cycle of waits lasts.
//!
//! There is no queue: a stream of readers can keep an older writer waiting.

use assay_primitives::sync::{AtomicU64, Ordering};

const EXCLUSIVE: u64 = 1;
const READER: u64 = 1 << 1;
const AGE_SHIFT: u32 = 13;
const READERS: u64 = (1 << AGE_SHIFT) - 1 - EXCLUSIVE;

/// Bits of a timestamp.
pub const AGE_BITS: u32 = u64::BITS - AGE_SHIFT;

/// How often a word is held shared.
#[inline(always)]
fn readers(word: u64) -> u64 {
    (word & READERS) / READER
}

/// Takes the lock shared. `Err` is the word that forbade it.
#[inline(always)]
pub fn share(lock: &AtomicU64, age: u64) -> Result<(), u64> {
    let mut word = lock.load(Ordering::Relaxed);
    loop {
        if word & EXCLUSIVE != 0 || word & READERS == READERS {
            return Err(word);
        }
        let oldest = if word == 0 { age } else { age.min(word >> AGE_SHIFT) };
        let taken = (oldest << AGE_SHIFT) | ((word & READERS) + READER);
        match lock.compare_exchange_weak(word, taken, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => word = now,
        }
    }
}

/// Takes the lock exclusively, given up to which shared holds are the caller's own; these become
/// part of the exclusive hold. `Err` is the word that forbade it.
#[inline(always)]
pub fn exclude(lock: &AtomicU64, age: u64, own_shares: u64) -> Result<(), u64> {
    let mut word = lock.load(Ordering::Relaxed);
    loop {
        if word & EXCLUSIVE != 0 || readers(word) != own_shares {
            return Err(word);
        }
        let taken = (age << AGE_SHIFT) | EXCLUSIVE;
        match lock.compare_exchange_weak(word, taken, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => word = now,
        }
    }
}

/// Whether a transaction of an age, which may hold the lock shared itself, is older than all other
/// holders.
#[inline(always)]
pub fn is_older(age: u64, word: u64) -> bool {
    age <= word >> AGE_SHIFT
}

/// Gives one shared hold back.
#[inline(always)]
pub fn leave_shared(lock: &AtomicU64) {
    let mut word = lock.load(Ordering::Relaxed);
    loop {
        let left = if readers(word) == 1 { 0 } else { word - READER };
        match lock.compare_exchange_weak(word, left, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => word = now,
        }
    }
}

/// Gives an exclusive hold back.
#[inline(always)]
pub fn leave_exclusive(lock: &AtomicU64) {
    lock.store(0, Ordering::Release);
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_writers_do_not() {
        let lock = AtomicU64::new(0);
        share(&lock, 5).unwrap();
        share(&lock, 7).unwrap();
        let word = exclude(&lock, 6, 0).unwrap_err();
        assert!(is_older(4, word) && is_older(5, word) && !is_older(6, word));
        assert!(exclude(&lock, 5, 1).is_err());
        leave_shared(&lock);
        exclude(&lock, 5, 1).unwrap();
        assert!(share(&lock, 1).is_err() && exclude(&lock, 1, 0).is_err());
        leave_exclusive(&lock);
        assert_eq!(lock.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_last_reader_leaves_a_free_lock() {
        let lock = AtomicU64::new(0);
        for age in [9, 3, 8] {
            share(&lock, age).unwrap();
        }
        (0..3).for_each(|_| leave_shared(&lock));
        assert_eq!(lock.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_full_count_of_readers_refuses_another() {
        let lock = AtomicU64::new(0);
        (0..4095).for_each(|_| share(&lock, 1).unwrap());
        assert!(share(&lock, 1).is_err());
        leave_shared(&lock);
        assert!(share(&lock, 1).is_ok());
    }
}
