//! The key numbers of a run: which exist, which are next, which are acknowledged.
//!
//! A key number becomes a key by `fnv1a_64` (YCSB's `insertorder=hashed`); text targets write it as
//! "user" followed by the decimal. Inserts take the next number at once and acknowledge it when
//! done; readers may use numbers up to the last one below which everything is acknowledged. That is
//! YCSB's `AcknowledgedCounterGenerator`, with its window of outstanding inserts.
//!
//! | window slot | meaning |
//! |---|---|
//! | false | its number is not yet acknowledged, or the limit has passed it |
//! | true | acknowledged, while a smaller number is not yet |

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// As many outstanding inserts as there can be; YCSB uses 2^20.
const WINDOW: u64 = 1 << 16;

/// The shared counters of a run, each on a cache line of its own: `last` is read by every
/// operation, `next` is written by every insert.
#[derive(Debug)]
pub struct KeySpace {
    next: Padded<AtomicU64>,
    /// Every number below this one is acknowledged.
    limit: Padded<AtomicU64>,
    is_advancing: Padded<AtomicBool>,
    window: Box<[AtomicBool]>,
    capacity: u64,
}

#[repr(align(128))]
#[derive(Debug)]
struct Padded<T>(T);

impl KeySpace {
    /// `records` numbers exist already; inserts may go on up to `capacity`.
    pub fn new(records: u64, capacity: u64) -> Self {
        let slots = if capacity > records { WINDOW } else { 1 };
        Self {
            next: Padded(AtomicU64::new(records)),
            limit: Padded(AtomicU64::new(records)),
            is_advancing: Padded(AtomicBool::new(false)),
            window: (0..slots).map(|_| AtomicBool::new(false)).collect(),
            capacity,
        }
    }

    /// Every number below the result exists and may be read.
    #[inline(always)]
    pub fn readable(&self) -> u64 {
        self.limit.0.load(Ordering::Acquire)
    }

    /// The next number to insert; `None` when the key space is used up.
    pub fn next(&self) -> Option<u64> {
        let number = self.next.0.fetch_add(1, Ordering::Relaxed);
        (number < self.capacity).then_some(number)
    }

    /// Says that `number` is inserted. Waits only if a straggler is a whole window behind.
    pub fn acknowledge(&self, number: u64) {
        while number >= self.readable() + self.window.len() as u64 {
            std::thread::yield_now();
            self.advance();
        }
        self.slot(number).store(true, Ordering::SeqCst);
        self.advance();
    }

    /// Moves the limit past every acknowledged number. One thread does it at a time; the others
    /// leave it to that one, which looks again after letting go so that nothing stays behind.
    fn advance(&self) {
        while self.slot(self.readable()).load(Ordering::SeqCst) {
            if self.is_advancing.0.swap(true, Ordering::SeqCst) {
                return;
            }
            let mut limit = self.readable();
            while self.slot(limit).swap(false, Ordering::SeqCst) {
                limit += 1;
                self.limit.0.store(limit, Ordering::SeqCst);
            }
            self.is_advancing.0.store(false, Ordering::SeqCst);
        }
    }

    fn slot(&self, number: u64) -> &AtomicBool {
        &self.window[(number % self.window.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_becomes_readable_when_all_below_it_are_acknowledged() {
        let keys = KeySpace::new(10, 20);
        let numbers: Vec<u64> = (0..3).filter_map(|_| keys.next()).collect();
        assert_eq!(numbers, [10, 11, 12]);
        keys.acknowledge(12);
        keys.acknowledge(11);
        assert_eq!(keys.readable(), 10);
        keys.acknowledge(10);
        assert_eq!(keys.readable(), 13);
    }

    #[test]
    fn the_key_space_ends() {
        let keys = KeySpace::new(3, 4);
        assert_eq!((keys.next(), keys.next()), (Some(3), None));
    }

    #[test]
    fn concurrent_acknowledgements_leave_nothing_behind() {
        let keys = KeySpace::new(0, 300_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(number) = keys.next() {
                        keys.acknowledge(number);
                    }
                });
            }
        });
        assert_eq!(keys.readable(), 300_000);
    }
}
