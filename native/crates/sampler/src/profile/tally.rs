//! Samples between two marks, counted by where they were.

use std::collections::BTreeMap;

use super::record::Address;

/// A process, and a chain of calls in it, innermost first.
pub type Stack = (u32, Vec<Address>);

type Counts = BTreeMap<Stack, u64>;

/// What was sampled: nothing before the first mark counts, and nothing after the last.
#[derive(Default)]
pub struct Tally {
    first_ns: Option<u64>,
    last_ns: u64,
    inside: Counts,
    /// Since the last mark: they count if there is another.
    after: Counts,
    lost: u64,
}

impl Tally {
    /// One sample.
    pub fn take(&mut self, pid: u32, time_ns: u64, chain: Vec<Address>) {
        if self.first_ns.is_none_or(|first_ns| time_ns <= first_ns) {
            return;
        }
        // Some come out of a buffer only after the mark that they were before.
        let counts = if time_ns <= self.last_ns { &mut self.inside } else { &mut self.after };
        *counts.entry((pid, chain)).or_default() += 1;
    }

    /// Samples of which nothing else is known; they count from the first mark on.
    pub fn lose(&mut self, count: u64) {
        if self.first_ns.is_some() {
            self.lost += count;
        }
    }

    /// Everything taken so far was before this mark. Says whether it is the first.
    pub fn mark(&mut self, now_ns: u64) -> bool {
        for (stack, count) in std::mem::take(&mut self.after) {
            *self.inside.entry(stack).or_default() += count;
        }
        self.last_ns = now_ns;
        let is_first = self.first_ns.is_none();
        self.first_ns.get_or_insert(now_ns);
        is_first
    }

    /// From the first mark to the last.
    pub fn seconds(&self) -> f64 {
        self.first_ns.map_or(0.0, |first_ns| (self.last_ns - first_ns) as f64 / 1e9)
    }

    /// Samples between the two.
    pub fn samples(&self) -> u64 {
        self.inside.values().sum()
    }

    /// Samples since the last mark.
    #[cfg(test)]
    pub fn pending(&self) -> u64 {
        self.after.values().sum()
    }

    /// Samples that found no place.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Where those between the two marks were.
    pub fn stacks(&self) -> impl Iterator<Item = (&Stack, u64)> {
        self.inside.iter().map(|(stack, count)| (stack, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(at: u64) -> Vec<Address> {
        vec![Address { is_kernel: false, at }]
    }

    fn counted(tally: &Tally) -> Vec<(u64, u64)> {
        tally.stacks().map(|((_, chain), count)| (chain[0].at, count)).collect()
    }

    #[test]
    fn only_samples_between_the_first_mark_and_the_last_count() {
        let mut tally = Tally::default();
        tally.take(1, 5, chain(1));
        tally.lose(9);
        assert!(tally.mark(10));
        tally.take(1, 9, chain(1)); // late out of its buffer
        tally.take(1, 11, chain(2));
        tally.take(1, 12, chain(2));
        assert!(!tally.mark(20));
        tally.take(1, 19, chain(3)); // late, and before the mark
        tally.take(1, 21, chain(4));
        tally.lose(2);
        assert_eq!(counted(&tally), [(2, 2), (3, 1)]);
        assert_eq!((tally.samples(), tally.lost()), (3, 2));
        assert!((tally.seconds() - 10e-9).abs() < 1e-15);
        tally.mark(30);
        assert_eq!(counted(&tally), [(2, 2), (3, 1), (4, 1)]);
    }

    #[test]
    fn one_place_in_two_processes_is_two() {
        let mut tally = Tally::default();
        tally.mark(0);
        tally.take(1, 1, chain(1));
        tally.take(2, 1, chain(1));
        tally.mark(2);
        assert_eq!(counted(&tally), [(1, 1), (1, 1)]);
    }

    #[test]
    fn without_a_mark_there_is_nothing() {
        let mut tally = Tally::default();
        tally.take(1, 1, chain(1));
        assert_eq!((tally.samples(), tally.seconds()), (0, 0.0));
    }
}
