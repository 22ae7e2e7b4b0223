//! Merges of the optimistic tree under loom: leaves of four entries that empty while others read,
//! insert and remove, and whose numbers are used again.
//!
//!     cargo test -p assay-index --release --features loom --test loom merges
//!
//! All that matters happens in spawned threads: loom explores next to nothing between a thread and
//! the model's first one when that has done much before. Each model says how it ended, and some
//! must have ended in several ways, so that a model in which nothing happened cannot pass.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use assay_index::{Caller, Index, NodeSet, NodeVersion, OptimisticTree};
use assay_primitives::LockKind;
use loom::thread::{self, JoinHandle};

use crate::support::{caller, scanned};

/// Runs a model in all orders with so many preemptions, and returns in which ways it ended.
fn outcomes<T: Ord + Send + Debug + 'static>(
    preemptions: usize,
    model: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    let all = seen.clone();
    builder.check(move || {
        let outcome = model();
        all.lock().unwrap().insert(outcome);
    });
    core::mem::take(&mut seen.lock().unwrap())
}

/// What a thread does with the tree.
struct Hand<'t> {
    tree: &'t OptimisticTree,
    caller: Caller,
    nodes: NodeSet,
}

impl Hand<'_> {
    fn insert(&mut self, key: u64) {
        assert_eq!(self.tree.insert(key, key, &mut self.caller, &mut self.nodes), Ok(true));
    }

    fn remove(&mut self, key: u64) {
        assert_eq!(self.tree.remove(key, &mut self.caller, &mut self.nodes), Some(key));
    }

    fn finds(&mut self, key: u64) -> bool {
        let found = self.tree.find(key, &mut self.caller, &mut self.nodes);
        assert!(found.is_none_or(|reference| reference == key), "another key's reference");
        found.is_some()
    }

    fn scan(&mut self, range: RangeInclusive<u64>, back: bool) -> Vec<u64> {
        let found = scanned(self.tree, range, back, &mut self.caller, &mut self.nodes);
        found.into_iter().map(|(key, _)| key).collect()
    }
}

fn with<T>(tree: &OptimisticTree, body: impl FnOnce(&mut Hand<'_>) -> T) -> T {
    body(&mut Hand { tree, caller: caller(LockKind::Ttas), nodes: NodeSet::tracked() })
}

fn spawn<T: Send + 'static>(
    tree: &Arc<OptimisticTree>,
    body: impl FnOnce(&mut Hand<'_>) -> T + Send + 'static,
) -> JoinHandle<T> {
    let tree = tree.clone();
    thread::spawn(move || with(&tree, body))
}

/// The leaves [20], [40], [50, 60, 70, 80]: the first two about to become empty, the third to be
/// split. The ranges begin at 0, 30 and 50. Few entries move, because loom tries each word of a node
/// that a reader meets in motion with every value that it can have had.
fn three_leaves() -> Arc<OptimisticTree> {
    let tree = Arc::new(OptimisticTree::new());
    with(&tree, |hand| {
        for key in [10, 20, 30, 40, 50, 60, 70, 80] {
            hand.insert(key);
        }
        hand.remove(10);
        hand.remove(30);
    });
    assert_eq!(tree.node_counts().in_use, 4);
    tree
}

/// Both readers' keys are in nodes that a merge changes: the one that goes and the one that stays.
#[test]
fn a_reader_finds_settled_keys_while_leaves_merge() {
    for (settled, removed) in [(40, 20), (50, 40)] {
        outcomes(2, move || {
            let tree = three_leaves();
            let writer = spawn(&tree, move |hand| hand.remove(removed));
            let reader = spawn(&tree, move |hand| hand.finds(settled));
            assert!(reader.join().unwrap(), "a settled key was missed");
            writer.join().unwrap();
            assert_eq!(tree.node_counts().in_use, 3, "merged");
        });
    }
}

/// The first leaf empties and absorbs the second, whose number goes to the upper half of the third,
/// all after a scan has seen one of them and before it has seen the other.
fn scan_of_a_reused_number(back: bool) {
    let ends = outcomes(1, move || {
        let tree = three_leaves();
        let reader = spawn(&tree.clone(), move |hand| {
            let (mut found, mut writer) = (Vec::new(), None);
            let mut visit = |key, _| {
                found.push(key);
                let start = || {
                    spawn(&tree, |hand| {
                        hand.remove(20);
                        hand.insert(90);
                    })
                };
                writer.get_or_insert_with(start);
                true
            };
            let scan = if back { Index::scan_back } else { Index::scan };
            scan(hand.tree, 15..=45, &mut hand.caller, &mut hand.nodes, &mut visit).unwrap();
            writer.take().unwrap().join().unwrap();
            assert_eq!(tree.node_counts().made, 4, "the number was used again");
            let nodes: BTreeSet<_> = hand.nodes.seen().iter().map(|seen| seen.node).collect();
            (found, nodes.len())
        });
        reader.join().unwrap()
    });
    for (found, _) in &ends {
        let is_right = if back { found[0] == 40 && found[1..] != [40] } else { *found == [20, 40] };
        assert!(is_right, "the settled key once, the other at most once: {found:?}");
    }
    assert!(ends.len() > 1, "before the merge and after: {ends:?}");
}

#[test]
fn a_scan_finds_settled_keys_while_leaves_merge_and_a_number_is_used_again() {
    scan_of_a_reused_number(false);
}

#[test]
fn so_does_a_scan_back() {
    scan_of_a_reused_number(true);
}

/// Who looked at a leaf before it was merged away is told so, whatever its number is used for.
#[test]
fn a_look_into_a_leaf_that_merges_holds_only_until_then() {
    let ends = outcomes(1, || {
        let tree = three_leaves();
        let writer = spawn(&tree, |hand| {
            hand.remove(20);
            hand.insert(90);
        });
        let reader = spawn(&tree, |hand| {
            assert!(!hand.finds(35));
            (hand.nodes.validate(hand.tree), hand.nodes.seen()[0])
        });
        let (is_valid, seen) = reader.join().unwrap();
        writer.join().unwrap();
        // The joint leaf is not changed any more.
        let is_joint = with(&tree, |hand| !hand.finds(36) && hand.nodes.seen()[0] == seen);
        assert_eq!(tree.validate(seen), is_joint, "a phantom");
        (is_valid, is_joint)
    });
    let seen = [(true, false), (false, false), (true, true)];
    assert!(seen.iter().all(|end| ends.contains(end)), "before, during, after: {ends:?}");
}

/// Each puts in a key after missing the other's, and one of them merges the leaf that it looked
/// into: not both may validate, and each may.
fn never_both_alone(
    first: fn(&mut Hand<'_>) -> bool,
    second: fn(&mut Hand<'_>) -> bool,
    preemptions: usize,
) {
    let ends = outcomes(preemptions, move || {
        let tree = three_leaves();
        let alone = [spawn(&tree, first), spawn(&tree, second)].map(|side| side.join().unwrap());
        assert_ne!(alone, [true, true], "write skew");
        alone
    });
    let each = [[true, false], [false, true]];
    assert!(each.iter().all(|end| ends.contains(end)), "never alone: {ends:?}");
}

fn is_alone(hand: &mut Hand<'_>, absent: bool) -> bool {
    absent && hand.nodes.validate(hand.tree)
}

#[test]
fn node_sets_prevent_write_skew_when_one_side_merges() {
    // The merge joins the leaves of both keys.
    never_both_alone(
        |hand| {
            let absent = !hand.finds(35);
            hand.remove(20);
            hand.insert(25);
            is_alone(hand, absent)
        },
        |hand| {
            let absent = !hand.finds(25);
            hand.insert(35);
            is_alone(hand, absent)
        },
        1,
    );
}

#[test]
fn node_sets_prevent_write_skew_when_a_removal_is_what_was_missed() {
    never_both_alone(
        |hand| {
            let absent = !hand.finds(35);
            hand.remove(20);
            is_alone(hand, absent)
        },
        |hand| {
            let found = hand.scan(20..=29, false);
            hand.insert(35);
            is_alone(hand, found == [20])
        },
        1,
    );
}

/// Neighbours that empty at the same time want the same nodes.
#[test]
fn two_removers_empty_neighbouring_leaves() {
    outcomes(1, || {
        let tree = three_leaves();
        let removers = [20, 40].map(|key| spawn(&tree, move |hand| hand.remove(key)));
        removers.into_iter().for_each(|remover| remover.join().unwrap());
        let all = 0..=u64::MAX;
        let found = with(&tree, |hand| (hand.scan(all.clone(), false), hand.scan(all, true)));
        assert_eq!(found, (vec![50, 60, 70, 80], vec![80, 70, 60, 50]));
        assert_eq!(tree.node_counts().in_use, 2, "one leaf under the root");
    });
}

/// One empties the leaf into which the other inserts, before, in or after the merge.
#[test]
fn an_insert_into_a_leaf_that_merges_is_not_lost() {
    let ends = outcomes(1, || {
        let tree = three_leaves();
        let remover = spawn(&tree, |hand| hand.remove(20));
        let inserter = spawn(&tree, |hand| [15, 35].map(|key| hand.insert(key)));
        remover.join().unwrap();
        inserter.join().unwrap();
        let all = 0..=u64::MAX;
        let found =
            with(&tree, |hand| (hand.scan(all, false), [15, 35].map(|key| hand.finds(key))));
        assert_eq!(found, (vec![15, 35, 40, 50, 60, 70, 80], [true; 2]));
        tree.node_counts().in_use
    });
    assert_eq!(ends.len(), 2, "with the merge and without: {ends:?}");
}

/// A splitter takes the number of the leaf that another thread has just given back.
#[test]
fn a_number_changes_hands_between_threads() {
    let ends = outcomes(1, || {
        let tree = three_leaves();
        let remover = spawn(&tree, |hand| {
            hand.remove(20);
            hand.nodes.changes().iter().find_map(|change| change.absorbed).map(|dead| dead.node)
        });
        let splitter = spawn(&tree, |hand| {
            hand.insert(90);
            let nodes = hand.nodes.changes().iter().filter_map(|change| change.upper);
            nodes.last().map(|NodeVersion { node, .. }| node)
        });
        let (dead, new) = (remover.join().unwrap(), splitter.join().unwrap());
        let all = 0..=u64::MAX;
        let sought = [40, 70, 90];
        let found = with(&tree, |hand| (hand.scan(all, false), sought.map(|key| hand.finds(key))));
        assert_eq!(found, (vec![40, 50, 60, 70, 80, 90], [true; 3]));
        dead == new
    });
    assert_eq!(ends.len(), 2, "used again or not: {ends:?}");
}
