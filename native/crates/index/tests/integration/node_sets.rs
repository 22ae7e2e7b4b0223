//! Node sets see every phantom, and carry a transaction's own changes over.

use std::collections::{BTreeMap, BTreeSet};

use assay_index::{Caller, Index, NodeSet, NodeVersion};

use crate::support::{caller, every_index, scanned};

const KEYS: u64 = 2000;

fn filled(index: &dyn Index, caller: &mut Caller) {
    for key in 0..KEYS {
        assert_eq!(index.insert(key * 10, key, caller, &mut NodeSet::untracked()), Ok(true));
    }
}

#[test]
fn an_insert_where_a_look_up_missed_invalidates_it() {
    for (name, _, lock, index) in every_index(8192) {
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        filled(index.as_ref(), caller);
        for key in (5..KEYS * 10).step_by(130) {
            let mut nodes = NodeSet::tracked();
            assert_eq!(index.find(key, caller, &mut nodes), None);
            assert_eq!(nodes.seen().len(), 1, "{name}");
            assert!(nodes.validate(index.as_ref()), "{name}");
            index.insert(key, 1, caller, ignore).unwrap();
            assert!(!nodes.validate(index.as_ref()), "{name}: phantom {key}");
        }
    }
}

#[test]
fn a_hit_depends_on_no_node() {
    for (name, _, lock, index) in every_index(8192) {
        let caller = &mut caller(lock);
        filled(index.as_ref(), caller);
        let mut nodes = NodeSet::tracked();
        assert_eq!(index.find(500, caller, &mut nodes), Some(50), "{name}");
        assert_eq!(index.insert(500, 1, caller, &mut nodes), Ok(false), "{name}");
        assert!(nodes.seen().is_empty() && nodes.changes().is_empty(), "{name}");
    }
}

#[test]
fn inserts_and_removals_within_a_scanned_range_invalidate_it() {
    for (name, kind, lock, index) in every_index(8192) {
        if !kind.is_ordered() {
            continue;
        }
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        filled(index.as_ref(), caller);
        for (round, key) in (4001..=8000).step_by(37).enumerate() {
            let mut nodes = NodeSet::tracked();
            scanned(index.as_ref(), 4000..=8000, round % 2 == 0, caller, &mut nodes);
            assert!(nodes.seen().len() > 2, "several leaves");
            assert!(nodes.validate(index.as_ref()), "{name}");
            if index.insert(key, 1, caller, ignore) == Ok(false) {
                index.remove(key, caller, ignore).unwrap();
            }
            assert!(!nodes.validate(index.as_ref()), "{name}: phantom {key}");
        }
    }
}

#[test]
fn a_change_far_away_leaves_a_tree_scan_valid() {
    for (name, kind, lock, index) in every_index(8192) {
        if !kind.is_ordered() {
            continue;
        }
        let caller = &mut caller(lock);
        filled(index.as_ref(), caller);
        let mut nodes = NodeSet::tracked();
        scanned(index.as_ref(), 4000..=8000, false, caller, &mut nodes);
        index.insert(15_005, 1, caller, &mut NodeSet::untracked()).unwrap();
        index.remove(15_010, caller, &mut NodeSet::untracked()).unwrap();
        assert!(nodes.validate(index.as_ref()), "{name}");
    }
}

#[test]
fn own_inserts_and_splits_keep_the_set_valid_and_foreign_ones_do_not() {
    for (name, kind, lock, index) in every_index(8192) {
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        let mut nodes = NodeSet::tracked();
        if kind.is_ordered() {
            assert!(scanned(index.as_ref(), 0..=u64::MAX, false, caller, &mut nodes).is_empty());
        }
        // From the empty tree through the root's split to three levels, in one transaction.
        for key in 0..3000_u64 {
            let key = key.wrapping_mul(7919) % 3001;
            assert_eq!(index.find(key, caller, &mut nodes), None);
            assert_eq!(index.insert(key, 1, caller, &mut nodes), Ok(true));
        }
        assert!(index.remove(17, caller, &mut nodes).is_some());
        assert!(nodes.validate(index.as_ref()), "{name}: own changes");
        assert!(nodes.changes().len() > 3000);
        let mut after_split = nodes.clone();
        index.insert(1 << 40, 1, caller, ignore).unwrap();
        if kind.is_ordered() {
            assert!(!nodes.validate(index.as_ref()), "{name}: foreign change");
            // An own change on top of the foreign one must not hide it.
            index.insert((1 << 40) + 1, 1, caller, &mut after_split).unwrap();
            assert!(!after_split.validate(index.as_ref()), "{name}: hidden change");
        }
    }
}

#[test]
fn versions_of_another_index_do_no_harm() {
    for (_, _, lock, index) in every_index(64) {
        let caller = &mut caller(lock);
        index.insert(1, 1, caller, &mut NodeSet::untracked()).unwrap();
        for node in [7, 1 << 20, u64::MAX] {
            assert!(!index.validate(assay_index::NodeVersion { node, version: 3 }));
        }
    }
}

#[test]
fn an_untracked_set_stays_empty() {
    for (_, _, lock, index) in every_index(64) {
        let (caller, nodes) = (&mut caller(lock), &mut NodeSet::untracked());
        index.find(1, caller, nodes);
        index.insert(1, 1, caller, nodes).unwrap();
        assert!(nodes.seen().is_empty() && nodes.changes().is_empty());
    }
}

/// The node that a look-up of a missing key reports.
fn node_of(index: &dyn Index, missing: u64, caller: &mut Caller) -> NodeVersion {
    let mut nodes = NodeSet::tracked();
    assert_eq!(index.find(missing, caller, &mut nodes), None);
    nodes.seen()[0]
}

/// The keys of the first leaf, and the leaf.
fn first_leaf(index: &dyn Index, caller: &mut Caller) -> (Vec<u64>, NodeVersion) {
    let leaf = node_of(index, 5, caller);
    let keys = (0..KEYS).map(|key| key * 10);
    (keys.take_while(|key| node_of(index, key + 5, caller) == leaf).collect(), leaf)
}

#[test]
fn a_merge_invalidates_who_saw_either_leaf_for_ever() {
    for (name, kind, lock, index) in every_index(1 << 16) {
        if !kind.is_ordered() {
            continue;
        }
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        let index = index.as_ref();
        filled(index, caller);
        let (keys, left) = first_leaf(index, caller);
        let above = keys.len() as u64 * 10;
        let right = node_of(index, above + 5, caller);
        assert!(right != left && index.validate(right));
        for &key in &keys[1..] {
            index.remove(key, caller, ignore).unwrap();
        }
        let emptied = node_of(index, 5, caller);
        assert!(emptied.node == left.node && index.validate(right), "{name}: not empty yet");
        index.remove(0, caller, ignore).unwrap();
        assert_eq!(node_of(index, above + 5, caller), node_of(index, 5, caller), "{name}: merged");
        assert!(!index.validate(emptied) && !index.validate(right), "{name}: seen before");
        // The dead node's number is used again, filled, split, and merged away again.
        for round in 0..3 {
            for key in 0..500 {
                index.insert(1_000_000 + key * 3, 1, caller, ignore).unwrap();
                assert!(!index.validate(emptied) && !index.validate(right), "{name} {round}");
            }
            let again = node_of(index, 1_000_001 + 300, caller);
            for key in 0..500 {
                index.remove(1_000_000 + key * 3, caller, ignore).unwrap();
                assert!(!index.validate(emptied) && !index.validate(right), "{name} {round}");
            }
            assert!(!index.validate(again), "{name}");
        }
    }
}

#[test]
fn own_removals_and_merges_keep_the_set_valid_and_foreign_ones_do_not() {
    let orders: [fn(u64) -> u64; 3] =
        [|number| number, |number| KEYS - 1 - number, |number| number * 997 % KEYS];
    for order in orders {
        for (name, kind, lock, index) in every_index(1 << 16) {
            if !kind.is_ordered() {
                continue;
            }
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            let index = index.as_ref();
            filled(index, caller);
            let mut nodes = NodeSet::tracked();
            scanned(index, 0..=u64::MAX, false, caller, &mut nodes);
            let leaves = nodes.seen().len();
            let mut disturbed = nodes.clone();
            for number in 0..KEYS {
                index.remove(order(number) * 10, caller, &mut nodes).unwrap();
            }
            assert!(nodes.validate(index), "{name}: own merges");
            let left: BTreeSet<_> = nodes.seen().iter().map(|seen| seen.node).collect();
            assert!(left.len() < leaves / 10, "{name}: {} of {leaves} left", left.len());
            // Emptied again over a foreign change in the middle: the same removals, the same
            // merges, and one key that came and went.
            disturbed.clear();
            filled(index, caller);
            scanned(index, 0..=u64::MAX, false, caller, &mut disturbed);
            index.insert(KEYS * 5 + 1, 1, caller, ignore).unwrap();
            index.remove(KEYS * 5 + 1, caller, ignore).unwrap();
            for number in 0..KEYS {
                index.remove(order(number) * 10, caller, &mut disturbed).unwrap();
                assert!(!disturbed.validate(index), "{name}: foreign change hidden");
            }
            assert!(!nodes.validate(index), "{name}");
        }
    }
}

/// A merge joins two ranges: what a transaction learnt of one of them must not vouch for the other.
#[test]
fn an_own_merge_does_not_hide_what_others_did_to_the_other_leaf() {
    for change_first in [false, true] {
        for (name, kind, lock, index) in every_index(1 << 16) {
            if !kind.is_ordered() {
                continue;
            }
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            let index = index.as_ref();
            filled(index, caller);
            let (keys, left) = first_leaf(index, caller);
            let above = keys.len() as u64 * 10 + 5;
            let mut nodes = NodeSet::tracked();
            assert_eq!(index.find(above, caller, &mut nodes), None);
            if change_first {
                index.insert(above, 1, caller, ignore).unwrap();
            }
            for &key in &keys {
                index.remove(key, caller, &mut nodes).unwrap();
            }
            assert_eq!(nodes.seen()[0].node == left.node, !change_first, "{name}: carried over");
            assert_eq!(nodes.validate(index), !change_first, "{name}");
            index.insert(3, 1, caller, ignore).unwrap();
            assert!(!nodes.validate(index), "{name}: the joint leaf has changed");
        }
    }
}

/// Keys that are there are even, so leaves begin at even keys, and the odd ones above them, which
/// are looked for, are in the same leaves. Whatever happens, a node
/// and its version never stand for two different sets of keys.
#[test]
fn a_node_and_its_version_name_one_set_of_keys_for_ever() {
    const SPAN: u64 = 1200;
    for (name, kind, lock, index) in every_index(1 << 16) {
        if !kind.is_ordered() || lock != assay_primitives::LockKind::Ttas {
            continue;
        }
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        let index = index.as_ref();
        let mut model = BTreeSet::new();
        let mut history = BTreeMap::<(u64, u64), Vec<u64>>::new();
        for round in 0..600_u64 {
            let random = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let from = random >> 32 & !1;
            let run = (0..(random >> 20) % 90).map(|step| (from + step * 2) % (SPAN * 2));
            for key in run {
                if random >> 63 == 0 {
                    let new = index.insert(key, 1, caller, ignore);
                    assert_eq!(new, Ok(model.insert(key)));
                } else {
                    assert_eq!(index.remove(key, caller, ignore).is_some(), model.remove(&key));
                }
            }
            let mut now = BTreeMap::<(u64, u64), Vec<u64>>::new();
            for odd in (1..SPAN * 2).step_by(2) {
                let NodeVersion { node, version } = node_of(index, odd, caller);
                let keys = now.entry((node, version)).or_default();
                keys.push(odd);
                keys.extend(model.contains(&(odd - 1)).then_some(odd - 1));
            }
            for (&(node, version), keys) in &history {
                let is_valid = index.validate(NodeVersion { node, version });
                let is_same = now.get(&(node, version)) == Some(keys);
                assert_eq!(is_valid, is_same, "{name}: node {node}, version {version}");
            }
            history.extend(now);
        }
    }
}
