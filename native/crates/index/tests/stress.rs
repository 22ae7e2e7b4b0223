//! Four threads at once: nothing is lost, nothing appears, scans are sorted.
#![cfg(not(loom))]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use assay_index::{Caller, Index, IndexKind, NodeSet};
use assay_primitives::LockKind;
use support::{caller, every_index, scanned};

const THREADS: u64 = 4;
const OPERATIONS: u64 = 40_000;

/// A queue of threads, more of them than CPUs, moves about once per time slice. That is the fair
/// locks' nature and no fault, but these tests cannot wait for it.
fn is_fair(lock: LockKind) -> bool {
    matches!(lock, LockKind::Ticket | LockKind::Mcs)
}

/// xorshift64 (Marsaglia, 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A reference from which key and owner can be told.
fn reference(key: u64) -> u64 {
    key ^ 0x5555
}

/// Changes keys that are `own` modulo `THREADS` only, so that it knows what must be there, between
/// the others' keys in the same nodes.
fn work(
    index: &dyn Index,
    own: u64,
    operations: u64,
    ordered: bool,
    caller: &mut Caller,
) -> BTreeMap<u64, u64> {
    let ignore = &mut NodeSet::untracked();
    let mut model = BTreeMap::new();
    let mut random = own + 1;
    for _ in 0..operations {
        let key = next(&mut random) % 1500 * THREADS + own;
        match next(&mut random) % 8 {
            0..4 => {
                let new = model.insert(key, reference(key)).is_none();
                assert_eq!(index.insert(key, reference(key), caller, ignore), Ok(new));
            }
            4..6 => assert_eq!(index.remove(key, caller, ignore), model.remove(&key)),
            6 => assert_eq!(index.find(key, caller, ignore), model.get(&key).copied()),
            _ if ordered => {
                check_scan(index, key, next(&mut random).is_multiple_of(2), own, &model, caller);
            }
            _ => {}
        }
    }
    model
}

fn check_scan(
    index: &dyn Index,
    from: u64,
    back: bool,
    own: u64,
    model: &BTreeMap<u64, u64>,
    caller: &mut Caller,
) {
    let range = from..=from + 800;
    let mut found = scanned(index, range.clone(), back, caller, &mut NodeSet::untracked());
    if back {
        found.reverse();
    }
    assert!(found.iter().all(|&(key, row)| range.contains(&key) && row == reference(key)));
    assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted, none twice");
    found.retain(|(key, _)| key % THREADS == own);
    assert!(found.into_iter().eq(model.range(range).map(|(&key, &row)| (key, row))));
}

#[test]
fn no_thread_loses_or_invents_keys_among_the_others() {
    for (name, kind, lock, index) in every_index(8192) {
        let index = index.as_ref();
        let operations = if is_fair(lock) { OPERATIONS / 200 } else { OPERATIONS };
        let models: Vec<_> = thread::scope(|scope| {
            let start = |own| {
                scope.spawn(move || {
                    work(index, own, operations, kind.is_ordered(), &mut caller(lock))
                })
            };
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let all: BTreeMap<_, _> = models.into_iter().flatten().collect();
        let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        for key in 0..1500 * THREADS {
            assert_eq!(index.find(key, caller, ignore), all.get(&key).copied(), "{name}");
        }
        if kind.is_ordered() {
            let found = scanned(index, 0..=u64::MAX, false, caller, ignore);
            assert!(found.into_iter().eq(all), "{name}");
        }
    }
}

#[test]
fn of_threads_that_insert_the_same_key_one_succeeds() {
    for (name, _, lock, index) in every_index(8192) {
        let keys = if is_fair(lock) { 100 } else { 3_000 };
        let index = index.as_ref();
        let successes = |insert: bool| -> u64 {
            thread::scope(|scope| {
                let work = move |thread: u64| {
                    let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
                    let mut count = 0;
                    for key in 0..keys {
                        count += u64::from(if insert {
                            index.insert(key, thread, caller, ignore).unwrap()
                        } else {
                            index.remove(key, caller, ignore).is_some()
                        });
                    }
                    count
                };
                let start = |thread| scope.spawn(move || work(thread));
                let threads: Vec<_> = (0..THREADS).map(start).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            })
        };
        assert_eq!(successes(true), keys, "{name}");
        assert_eq!(successes(false), keys, "{name}");
    }
}

/// Keys that nobody touches are found at all times, however the nodes around them split.
#[test]
fn settled_keys_are_always_found() {
    for (name, kind, lock, index) in every_index(1 << 17) {
        if is_fair(lock) {
            continue;
        }
        let index = index.as_ref();
        let (setter, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        for key in 0..64 {
            index.insert(key << 32, key, setter, ignore).unwrap();
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let done = &done;
            let reader = |scanning: bool| {
                let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
                while !done.load(Ordering::Relaxed) {
                    for key in 0..64 {
                        assert_eq!(index.find(key << 32, caller, ignore), Some(key), "{name}");
                    }
                    if scanning {
                        let found = scanned(index, 0..=u64::MAX, false, caller, ignore);
                        let settled = found.iter().filter(|(key, _)| key & 0xffff_ffff == 0);
                        assert_eq!(settled.count(), 64, "{name}");
                    }
                }
            };
            scope.spawn(move || reader(false));
            scope.spawn(move || reader(kind.is_ordered()));
            let mut random = 99;
            for number in 0..6_000 {
                let key = (next(&mut random) % (64 << 32)) | 1;
                index.insert(key, number, setter, ignore).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

/// Two threads that each insert a key only if the other's is not there, with validation as a
/// transaction would do it: never may both believe that they were alone.
#[test]
fn node_sets_prevent_write_skew_between_threads() {
    const ROUNDS: u64 = 2_000;
    for kind in IndexKind::ALL {
        let lock = LockKind::Ttas;
        let index = assay_index::build(kind, lock, 1 << 14);
        let index = index.as_ref();
        let alone = thread::scope(|scope| {
            let start = |own: u64| {
                scope.spawn(move || {
                    let (caller, nodes) = (&mut caller(lock), &mut NodeSet::tracked());
                    let mut attempt = |round: u64| {
                        nodes.clear();
                        let (mine, theirs) = (round * 2 + own, round * 2 + 1 - own);
                        let absent = index.find(theirs, caller, nodes).is_none();
                        index.insert(mine, 1, caller, nodes).unwrap();
                        absent && nodes.validate(index)
                    };
                    (0..ROUNDS).map(&mut attempt).collect::<Vec<_>>()
                })
            };
            [start(0), start(1)].map(|thread| thread.join().unwrap())
        });
        let both = alone[0].iter().zip(&alone[1]).filter(|(one, other)| **one && **other).count();
        assert_eq!(both, 0, "{}", kind.name());
    }
}
