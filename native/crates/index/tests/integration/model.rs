//! Each index does what a `BTreeMap` does, on random operations.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_index::{Index, IndexError, IndexKind, NodeSet};
use proptest::prelude::*;

use crate::support::{caller, every_index, scanned};

#[derive(Clone, Debug)]
enum Operation {
    Insert(u64, u64),
    Remove(u64),
    Find(u64),
    Scan(RangeInclusive<u64>, bool),
    /// A run of neighbouring keys, so that nodes fill and split.
    Fill(u64, u64),
    /// Takes a run of neighbouring keys out, upwards or downwards, so that leaves empty and merge.
    Drain(u64, u64, bool),
    /// Moves a queue on: takes keys from the front and puts as many behind the last.
    Turn(u64),
}

/// Few different keys, so that operations meet, and the ends of the key space.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..3000_u64, 1 => (0..4_u64).prop_map(|back| u64::MAX - back)]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (key(), 0..u64::MAX).prop_map(|(key, reference)| Operation::Insert(key, reference)),
        3 => key().prop_map(Operation::Remove),
        2 => key().prop_map(Operation::Find),
        1 => (key(), key(), any::<bool>()).prop_map(|(from, to, back)| {
            Operation::Scan(from..=to, back)
        }),
        1 => (0..3000_u64, 1..200_u64).prop_map(|(from, count)| Operation::Fill(from, count)),
        1 => (0..3000_u64, 1..600_u64, any::<bool>()).prop_map(|(from, count, back)| {
            Operation::Drain(from, count, back)
        }),
        1 => (1..300_u64).prop_map(Operation::Turn),
    ]
}

fn expected(model: &BTreeMap<u64, u64>, range: RangeInclusive<u64>, back: bool) -> Vec<(u64, u64)> {
    if range.is_empty() {
        return Vec::new();
    }
    let mut entries: Vec<_> = model.range(range).map(|(&key, &row)| (key, row)).collect();
    if back {
        entries.reverse();
    }
    entries
}

fn insert(model: &mut BTreeMap<u64, u64>, key: u64, reference: u64) -> bool {
    let new = !model.contains_key(&key);
    model.entry(key).or_insert(reference);
    new
}

/// The single steps of operations on many keys: what to remove and what to insert.
fn steps(operation: &Operation, model: &BTreeMap<u64, u64>) -> Vec<Result<u64, u64>> {
    match *operation {
        Operation::Fill(from, count) => (from..from + count).map(Err).collect(),
        Operation::Drain(from, count, false) => (from..from + count).map(Ok).collect(),
        Operation::Drain(from, count, true) => (from..from + count).rev().map(Ok).collect(),
        Operation::Turn(count) => {
            // Behind the last that is not at the very end of the key space.
            let end = model.range(..1 << 32).next_back().map_or(0, |(&key, _)| key + 1);
            let front: Vec<_> = model.keys().take(count as usize).copied().collect();
            let new = (end..).take(front.len());
            front.into_iter().zip(new).flat_map(|(old, new)| [Ok(old), Err(new)]).collect()
        }
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_index_does_what_a_map_does(
        operations in proptest::collection::vec(operation(), 1..400),
    ) {
        for (name, kind, lock, index) in every_index(8192) {
            let mut caller = caller(lock);
            let mut model = BTreeMap::new();
            let ignore = &mut NodeSet::untracked();
            for operation in operations.clone() {
                match operation {
                    Operation::Insert(key, reference) => prop_assert_eq!(
                        index.insert(key, reference, &mut caller, ignore),
                        Ok(insert(&mut model, key, reference)), "{} {}", name, key
                    ),
                    Operation::Remove(key) => prop_assert_eq!(
                        index.remove(key, &mut caller, ignore), model.remove(&key), "{}", name
                    ),
                    Operation::Find(key) => prop_assert_eq!(
                        index.find(key, &mut caller, ignore), model.get(&key).copied(), "{}", name
                    ),
                    Operation::Fill(..) | Operation::Drain(..) | Operation::Turn(..) => {
                        for step in steps(&operation, &model) {
                            match step {
                                Ok(key) => prop_assert_eq!(
                                    index.remove(key, &mut caller, ignore), model.remove(&key),
                                    "{} {}", name, key
                                ),
                                Err(key) => prop_assert_eq!(
                                    index.insert(key, key ^ 1, &mut caller, ignore),
                                    Ok(insert(&mut model, key, key ^ 1)), "{} {}", name, key
                                ),
                            }
                        }
                    }
                    Operation::Scan(range, back) if kind.is_ordered() => prop_assert_eq!(
                        scanned(index.as_ref(), range.clone(), back, &mut caller, ignore),
                        expected(&model, range, back), "{}", name
                    ),
                    Operation::Scan(..) => {}
                }
            }
            for (&key, &reference) in &model {
                prop_assert_eq!(index.find(key, &mut caller, ignore), Some(reference));
            }
            for back in [false, true].into_iter().filter(|_| kind.is_ordered()) {
                prop_assert_eq!(
                    scanned(index.as_ref(), 0..=u64::MAX, back, &mut caller, ignore),
                    expected(&model, 0..=u64::MAX, back), "{}", name
                );
            }
        }
    }
}

#[test]
fn three_levels_hold_everything_in_order() {
    const KEYS: u64 = 100_000;
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    for (name, kind, lock, index) in every_index(KEYS as usize) {
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        for number in 0..KEYS {
            let key = number.wrapping_mul(ODD);
            assert_eq!(index.insert(key, number, caller, ignore), Ok(true), "{name}");
        }
        for number in 0..KEYS {
            assert_eq!(index.find(number.wrapping_mul(ODD), caller, ignore), Some(number));
        }
        if kind.is_ordered() {
            let mut model: Vec<_> =
                (0..KEYS).map(|number| (number.wrapping_mul(ODD), number)).collect();
            model.sort_unstable();
            let all = 0..=u64::MAX;
            assert_eq!(scanned(index.as_ref(), all.clone(), false, caller, ignore), model);
            model.reverse();
            assert_eq!(scanned(index.as_ref(), all, true, caller, ignore), model);
        }
    }
}

#[test]
fn a_scan_ends_when_the_visitor_says_so() {
    for (name, kind, lock, index) in every_index(1000) {
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        for key in 0..1000 {
            index.insert(key, key, caller, ignore).unwrap();
        }
        let mut visited = 0;
        let mut five = |_, _| {
            visited += 1;
            visited < 5
        };
        let result = index.scan(10..=900, caller, ignore, &mut five);
        let back = index.scan_back(10..=900, caller, ignore, &mut |_, _| false);
        if kind == IndexKind::Hash {
            assert_eq!((result, back), (Err(IndexError::Unordered), Err(IndexError::Unordered)));
        } else {
            assert_eq!((result, back, visited), (Ok(()), Ok(()), 5), "{name}");
        }
    }
}

#[test]
fn a_full_hash_index_says_so_and_keeps_what_it_has() {
    let index = assay_index::HashIndex::new(10);
    let caller = &mut caller(assay_primitives::LockKind::Ttas);
    let ignore = &mut NodeSet::untracked();
    for key in 0..64 {
        assert_eq!(index.insert(key, key, caller, ignore), Ok(true));
    }
    assert_eq!(index.insert(64, 64, caller, ignore), Err(IndexError::Full));
    assert_eq!(index.insert(u64::MAX, 1, caller, ignore), Ok(true));
    assert_eq!(index.find(64, caller, ignore), None);
    assert_eq!(index.remove(3, caller, ignore), Some(3));
    assert_eq!(index.insert(3, 33, caller, ignore), Ok(true));
    assert!((0..64).all(|key| index.find(key, caller, ignore).is_some()));
}

#[test]
fn every_entry_is_visited_once_whatever_the_order() {
    for (name, _, lock, index) in every_index(4096) {
        let caller = &mut caller(lock);
        let ignore = &mut NodeSet::untracked();
        let keys = || (0..1000).chain([u64::MAX]);
        for key in keys() {
            assert_eq!(index.insert(key, key ^ 1, caller, ignore), Ok(true), "{name}");
        }
        index.remove(7, caller, ignore);
        let mut entries = Vec::new();
        index.each(caller, &mut |key, reference| entries.push((key, reference)));
        entries.sort_unstable();
        let expected: Vec<_> = keys().filter(|key| *key != 7).map(|key| (key, key ^ 1)).collect();
        assert_eq!(entries, expected, "{name}");
    }
}
