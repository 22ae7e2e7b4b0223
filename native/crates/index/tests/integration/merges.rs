//! Trees stay as small as what is in them: empty leaves go, and their numbers come back.

use std::collections::BTreeMap;

use assay_index::{Caller, Index, LatchedTree, NodeCounts, NodeSet, OptimisticTree};
use assay_primitives::LockKind;
use assay_primitives::locks::WordLock;

use crate::support::{caller, scanned};

/// A tree that says how many nodes it has.
trait Tree: Index {
    fn counts(&self) -> NodeCounts;
}

impl Tree for OptimisticTree {
    fn counts(&self) -> NodeCounts {
        self.node_counts()
    }
}

impl Tree for LatchedTree<WordLock> {
    fn counts(&self) -> NodeCounts {
        self.node_counts()
    }
}

fn each_tree(test: impl Fn(&dyn Tree, &mut Caller)) {
    let caller = &mut caller(LockKind::Ttas);
    test(&OptimisticTree::new(), caller);
    test(&LatchedTree::<WordLock>::new(), caller);
}

/// A reference that is right for the highest key too.
fn row(key: u64) -> u64 {
    key / 2
}

fn insert(tree: &dyn Tree, key: u64, caller: &mut Caller) {
    assert_eq!(tree.insert(key, row(key), caller, &mut NodeSet::untracked()), Ok(true));
}

fn remove(tree: &dyn Tree, key: u64, caller: &mut Caller) {
    assert_eq!(tree.remove(key, caller, &mut NodeSet::untracked()), Some(row(key)));
}

/// The first key from one end, and how many leaves were visited to find it.
fn end(tree: &dyn Tree, back: bool, caller: &mut Caller) -> (Option<u64>, usize) {
    let (mut found, mut nodes) = (None, NodeSet::tracked());
    let mut visit = |key, _| {
        found = Some(key);
        false
    };
    let scan = if back { Index::scan_back } else { Index::scan };
    scan(tree, 0..=u64::MAX, caller, &mut nodes, &mut visit).unwrap();
    (found, nodes.seen().len())
}

/// Pushes one key at the far end for each that it takes from the near end.
fn queue(length: u64, turns: u64, back: bool) {
    // Mirrored, so that the front is at the high end.
    let key = |number: u64| if back { u64::MAX - number } else { number };
    each_tree(|tree, caller| {
        for number in 0..length {
            insert(tree, key(number), caller);
        }
        let before = tree.counts();
        for turn in 0..turns {
            // Not at each turn, so that a leaf may be emptied before anybody looks.
            if turn.is_multiple_of(7) {
                let (front, leaves) = end(tree, back, caller);
                assert_eq!(front, Some(key(turn)));
                assert!(leaves <= 3, "{leaves} leaves to the front after {turn} turns");
            }
            remove(tree, key(turn), caller);
            insert(tree, key(length + turn), caller);
        }
        let after = tree.counts();
        // Both ends of the queue are within some leaf, on each level.
        assert!(after.in_use <= before.in_use + 10, "{before:?} became {after:?}");
        assert!(after.made <= before.made + 10, "{before:?} became {after:?}");
    });
}

#[test]
fn a_long_queue_stays_as_large_as_it_is_and_its_front_near() {
    queue(10_000, 1_000_000, false);
}

#[test]
fn so_does_a_queue_from_the_high_end_to_the_low() {
    queue(10_000, 1_000_000, true);
}

#[test]
fn so_does_a_queue_that_is_nearly_empty() {
    queue(1, 300_000, false);
    queue(70, 300_000, true);
}

/// The keys below `count`, in the order in which a test removes them.
fn orders(count: u64) -> Vec<(&'static str, Vec<u64>)> {
    let scattered = |number: u64| number * 7919 % count;
    let inside_out = |number: u64| {
        let half = number / 2;
        if number.is_multiple_of(2) { count / 2 + half } else { count / 2 - 1 - half }
    };
    vec![
        ("ascending", (0..count).collect()),
        ("descending", (0..count).rev().collect()),
        ("scattered", (0..count).map(scattered).collect()),
        ("inside out", (0..count).map(inside_out).collect()),
        ("outside in", (0..count).rev().map(inside_out).collect()),
    ]
}

#[test]
fn a_tree_that_is_emptied_has_hardly_any_nodes_left_and_uses_them_again() {
    const KEYS: u64 = 40_000;
    for (order, keys) in orders(KEYS) {
        each_tree(|tree, caller| {
            let mut most = 0;
            for round in 0..3 {
                let mut model = BTreeMap::new();
                for &key in &keys {
                    insert(tree, key, caller);
                    model.insert(key, row(key));
                }
                let full = tree.counts();
                if round == 0 {
                    most = full.made;
                }
                assert!(full.made <= most + 10, "{order}: {full:?}, {most} in the first round");
                for (number, &key) in keys.iter().enumerate() {
                    remove(tree, key, caller);
                    model.remove(&key);
                    if number % 4001 == 0 || model.len() < 3 {
                        check_scans(tree, &model, caller);
                    }
                }
                let left = tree.counts().in_use;
                assert!(left <= 4, "{order}: {left} nodes left of {full:?}");
            }
        });
    }
}

fn check_scans(tree: &dyn Tree, model: &BTreeMap<u64, u64>, caller: &mut Caller) {
    let (all, ignore) = (0..=u64::MAX, &mut NodeSet::untracked());
    let found = scanned(tree, all.clone(), false, caller, ignore);
    assert!(found.into_iter().eq(model.iter().map(|(&key, &row)| (key, row))));
    let found = scanned(tree, all, true, caller, ignore);
    assert!(found.into_iter().eq(model.iter().rev().map(|(&key, &row)| (key, row))));
}

/// What free-at-empty promises: leaves with few entries stay, but each has one.
#[test]
fn leaves_that_are_not_empty_stay_and_no_others() {
    const KEYS: u64 = 40_000;
    each_tree(|tree, caller| {
        for key in 0..KEYS {
            insert(tree, key, caller);
        }
        for key in (0..KEYS).filter(|key| !key.is_multiple_of(1000)) {
            remove(tree, key, caller);
        }
        let mut nodes = NodeSet::tracked();
        assert_eq!(scanned(tree, 0..=u64::MAX, false, caller, &mut nodes).len(), 40);
        assert!(nodes.seen().len() <= 41, "{} leaves for 40 keys", nodes.seen().len());
    });
}

/// `visit` may do anything to the tree: what it does to the neighbours must not mislead the scan.
#[test]
fn a_scan_goes_on_when_the_leaves_ahead_merge_and_their_numbers_are_used_elsewhere() {
    const KEYS: u64 = 2000;
    for back in [false, true] {
        each_tree(|tree, own| {
            for key in 0..KEYS {
                insert(tree, key * 10, own);
            }
            let other = &mut caller(LockKind::Ttas);
            let mut found = Vec::new();
            let mut visit = |key: u64, _| {
                found.push(key);
                // Empties the leaf that the scan is in, which absorbs the next one, whose number
                // then goes to a leaf elsewhere.
                if key > 0 && key.is_multiple_of(500) {
                    let around = (key.saturating_sub(700) / 10..=(key + 700) / 10)
                        .filter(|number| !(number * 10).is_multiple_of(500) && *number < KEYS);
                    for number in around {
                        tree.remove(number * 10, other, &mut NodeSet::untracked());
                    }
                    for new in 0..200 {
                        let far = if back { KEYS * 10 + key } else { 0 };
                        let key = far + new * 10 + 1 + key / 500 % 9;
                        tree.insert(key, key, other, &mut NodeSet::untracked()).unwrap();
                    }
                }
                true
            };
            let scan = if back { Index::scan_back } else { Index::scan };
            let ignore = &mut NodeSet::untracked();
            scan(tree, 0..=u64::MAX, own, ignore, &mut visit).unwrap();
            if back {
                found.reverse();
            }
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "sorted, none twice");
            found.retain(|key| key % 500 == 0);
            let settled: Vec<_> = (0..KEYS * 10).step_by(500).collect();
            assert_eq!(found, settled, "settled keys");
        });
    }
}
