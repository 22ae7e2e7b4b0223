//! Node sets see every phantom, and carry a transaction's own changes over.
#![cfg(not(loom))]

mod support;

use assay_index::{Caller, Index, NodeSet};
use support::{caller, every_index, scanned};

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
