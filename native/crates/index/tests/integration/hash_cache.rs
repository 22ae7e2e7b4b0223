//! The hash table before a tree: what it answers, what it leaves to the tree, and that it never
//! answers with what is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use assay_index::{
    CacheCounts, HashCached, Index, IndexError, IndexKind, NodeSet, OptimisticTree, build,
    build_cached,
};
use assay_primitives::LockKind;

use crate::support::caller;

const LOCK: LockKind = LockKind::Ttas;

fn cached(entries: usize) -> HashCached<OptimisticTree> {
    HashCached::new(OptimisticTree::new(), entries)
}

#[test]
fn a_key_found_once_is_answered_without_the_tree_until_it_is_removed() {
    let (index, caller) = (cached(64), &mut caller(LOCK));
    let ignore = &mut NodeSet::untracked();
    assert_eq!(index.insert(7, 70, caller, ignore), Ok(true));
    let mut expected = CacheCounts::default();
    for _ in 0..2 {
        assert_eq!(index.find(7, caller, ignore), Some(70));
        expected.misses += 1;
        for _ in 0..5 {
            assert_eq!(index.find(7, caller, ignore), Some(70));
            expected.hits += 1;
        }
        assert_eq!(index.remove(7, caller, ignore), Some(70));
        assert_eq!(index.find(7, caller, ignore), None);
        assert_eq!(index.find(7, caller, ignore), None);
        expected.misses += 2;
        assert_eq!(caller.cache(), expected);
        assert_eq!(index.insert(7, 70, caller, ignore), Ok(true));
    }
}

#[test]
fn a_key_that_comes_back_has_its_new_reference() {
    let (index, caller) = (cached(1), &mut caller(LOCK));
    let ignore = &mut NodeSet::untracked();
    for reference in 0..100 {
        assert_eq!(index.insert(1, reference, caller, ignore), Ok(true));
        assert_eq!(index.insert(1, 1000, caller, ignore), Ok(false));
        for _ in 0..3 {
            assert_eq!(index.find(1, caller, ignore), Some(reference));
        }
        assert_eq!(index.remove(1, caller, ignore), Some(reference));
    }
    assert_eq!(caller.cache().hits, 200);
}

#[test]
fn a_miss_reports_the_tree_s_node_every_time_and_a_hit_none() {
    let (index, caller) = (cached(64), &mut caller(LOCK));
    index.insert(1, 1, caller, &mut NodeSet::untracked()).unwrap();
    index.find(1, caller, &mut NodeSet::untracked());
    for _ in 0..3 {
        let nodes = &mut NodeSet::tracked();
        assert_eq!(index.find(1, caller, nodes), Some(1));
        assert_eq!(nodes.seen(), []);
        assert_eq!(index.find(2, caller, nodes), None);
        assert_eq!(nodes.seen().len(), 1);
        assert!(nodes.validate(&index));
        let other = index.insert(2, 2, caller, &mut NodeSet::untracked());
        assert_eq!(other, Ok(true));
        assert!(!nodes.validate(&index), "a phantom");
        assert_eq!(index.remove(2, caller, &mut NodeSet::untracked()), Some(2));
    }
}

#[test]
fn a_full_bucket_gives_up_its_entries_in_turn() {
    let (index, caller) = (cached(1), &mut caller(LOCK));
    assert_eq!(index.entries(), 3);
    let ignore = &mut NodeSet::untracked();
    for key in 0..4 {
        index.insert(key, key, caller, ignore).unwrap();
    }
    let mut hits = |keys: &[u64]| {
        let before = caller.cache().hits;
        for &key in keys {
            assert_eq!(index.find(key, caller, ignore), Some(key));
        }
        caller.cache().hits - before
    };
    assert_eq!(hits(&[0, 1, 2]), 0);
    assert_eq!(hits(&[0, 1, 2]), 3);
    // The oldest goes, the others stay.
    assert_eq!(hits(&[3]), 0);
    assert_eq!(hits(&[3, 1, 2]), 3);
    assert_eq!(hits(&[0]), 0);
}

#[test]
fn the_key_that_marks_empty_entries_is_left_to_the_tree() {
    let (index, caller) = (cached(64), &mut caller(LOCK));
    let ignore = &mut NodeSet::untracked();
    assert_eq!(index.find(u64::MAX, caller, ignore), None);
    assert_eq!(index.insert(u64::MAX, 5, caller, ignore), Ok(true));
    for _ in 0..3 {
        assert_eq!(index.find(u64::MAX, caller, ignore), Some(5));
    }
    assert_eq!(index.remove(u64::MAX, caller, ignore), Some(5));
    assert_eq!(index.find(u64::MAX, caller, ignore), None);
    assert_eq!(caller.cache(), CacheCounts::default());
}

#[test]
fn a_hash_index_gets_no_hash_table_before_it() {
    let refused = build_cached(IndexKind::Hash, LOCK, 64).err();
    assert_eq!(refused, Some(IndexError::NeedsTree));
    let plain = build(IndexKind::Optimistic, LOCK, 64);
    let caller = &mut caller(LOCK);
    plain.find(1, caller, &mut NodeSet::untracked());
    assert_eq!(caller.cache(), CacheCounts::default());
}

/// Keys of the stress test: twice what one bucket holds, and less than eight buckets hold.
const KEYS: u64 = 6;
const GENERATIONS: u64 = 8_000;

/// A key's history is present 1, gone 1, present 2, gone 2, ...: numbers 2, 3, 4, 5, ... Every
/// thread announces the latest number it knows of, and no look-up that starts afterwards may
/// answer with an earlier one, whoever announced it: the remover after its call returned, or a
/// reader that met the tree in the middle of the removal.
fn nothing_gone_is_ever_answered(index: &dyn Index) -> CacheCounts {
    let known: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let (known, done) = (&known, &AtomicBool::new(false));
    let write = |own: u64| {
        let (caller, ignore) = (&mut caller(LOCK), &mut NodeSet::untracked());
        for generation in 1..GENERATIONS {
            let keys = || (own..KEYS).step_by(2).map(|key| (key, &known[key as usize]));
            for (key, place) in keys() {
                assert_eq!(index.insert(key, generation, caller, ignore), Ok(true));
                place.fetch_max(generation * 2, Ordering::AcqRel);
                assert_eq!(index.find(key, caller, ignore), Some(generation));
            }
            // More threads than CPUs: without this, a thread does all its work in one time slice.
            if generation % 4 == 0 {
                thread::yield_now();
            }
            for (key, place) in keys() {
                assert_eq!(index.remove(key, caller, ignore), Some(generation));
                place.fetch_max(generation * 2 + 1, Ordering::AcqRel);
                assert_eq!(index.find(key, caller, ignore), None);
            }
        }
    };
    let read = || {
        let (caller, ignore) = (&mut caller(LOCK), &mut NodeSet::untracked());
        while !done.load(Ordering::Relaxed) {
            for key in (0..KEYS).flat_map(|key| [key; 4]) {
                let place = &known[key as usize];
                let before = place.load(Ordering::Acquire);
                let number = match index.find(key, caller, ignore) {
                    Some(generation) => generation * 2,
                    None if before == 0 => 0,
                    None => before | 1,
                };
                assert!(number >= before, "key {key}: {number} after {before} was known");
                place.fetch_max(number, Ordering::AcqRel);
            }
            thread::yield_now();
        }
        caller.cache()
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        let writers = [scope.spawn(move || write(0)), scope.spawn(move || write(1))];
        let ended = writers.map(|writer| writer.join().is_ok());
        done.store(true, Ordering::Relaxed);
        assert_eq!(ended, [true, true], "a writer met what was gone, or missed what was there");
        let mut total = CacheCounts::default();
        for reader in readers {
            let counts = reader.join().expect("a reader met what was gone");
            total.hits += counts.hits;
            total.misses += counts.misses;
        }
        total
    })
}

#[test]
fn no_look_up_answers_with_what_is_known_to_be_gone() {
    for kind in [IndexKind::Optimistic, IndexKind::Latched] {
        for entries in [1, 24] {
            let index = build_cached(kind, LOCK, entries).unwrap();
            let counts = nothing_gone_is_ever_answered(index.as_ref());
            assert!(counts.hits > 0 && counts.misses > 0, "{counts:?}");
        }
    }
}
