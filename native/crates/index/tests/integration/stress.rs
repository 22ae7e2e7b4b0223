//! Four threads at once: nothing is lost, nothing appears, scans are sorted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use assay_index::{Caller, Index, IndexKind, NodeSet};
use assay_primitives::LockKind;

use crate::support::{caller, every_index, scanned};

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

/// Keys that nobody touches are found at all times, by look-ups and by scans of both directions,
/// while everything between them comes and goes, so that leaves split, empty, merge, and their
/// numbers are used again.
#[test]
fn settled_keys_are_always_found_between_leaves_that_merge() {
    const SETTLED: u64 = 12;
    const APART: u64 = 400;
    for (name, kind, lock, index) in every_index(8192) {
        if is_fair(lock) || !kind.is_ordered() {
            continue;
        }
        let index = index.as_ref();
        let (setter, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
        for number in 0..SETTLED {
            index.insert(number * APART, number, setter, ignore).unwrap();
        }
        let done = AtomicBool::new(false);
        let settled = || (0..SETTLED).map(|number| (number * APART, number));
        let read = |back: Option<bool>| {
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            while !done.load(Ordering::Relaxed) {
                let Some(back) = back else {
                    for (key, reference) in settled() {
                        assert_eq!(index.find(key, caller, ignore), Some(reference), "{name}");
                    }
                    continue;
                };
                let mut found = scanned(index, 0..=u64::MAX, back, caller, ignore);
                if back {
                    found.reverse();
                }
                assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{name}: sorted");
                found.retain(|(key, _)| key.is_multiple_of(APART));
                assert!(found.into_iter().eq(settled()), "{name}: settled keys, back: {back}");
            }
        };
        // Each has every second key, so that both empty the same leaves.
        let churn = |own: u64| {
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            let keys = || {
                let all = (0..SETTLED * APART).filter(|key| !key.is_multiple_of(APART));
                all.filter(move |key| key % 2 == own)
            };
            for round in 0..10 {
                for key in keys() {
                    assert_eq!(index.insert(key, key, caller, ignore), Ok(true), "{name}");
                }
                let remove = |key| assert_eq!(index.remove(key, caller, ignore), Some(key));
                if (round + own).is_multiple_of(2) {
                    keys().for_each(remove);
                } else {
                    keys().collect::<Vec<_>>().into_iter().rev().for_each(remove);
                }
            }
        };
        thread::scope(|scope| {
            let (read, churn) = (&read, &churn);
            for back in [None, Some(false), Some(true)] {
                scope.spawn(move || read(back));
            }
            let churning = [0, 1].map(|own| scope.spawn(move || churn(own)));
            let results = churning.map(|thread| thread.join());
            done.store(true, Ordering::Relaxed);
            assert!(results.into_iter().all(|result| result.is_ok()));
        });
        let mut nodes = NodeSet::tracked();
        let found = scanned(index, 0..=u64::MAX, false, setter, &mut nodes);
        assert!(found.into_iter().eq(settled()), "{name}");
        // Whoever gave a merge up for the other's sake left few of the hundred leaves there were.
        assert!(nodes.seen().len() < 40, "{name}: {} leaves", nodes.seen().len());
    }
}

/// Two threads put keys at the end of a queue, two take the oldest: each key is taken once, and the
/// oldest stays near.
#[test]
fn what_goes_through_a_queue_comes_out_once() {
    const KEYS: u64 = 15_000;
    for (name, kind, lock, index) in every_index(8192) {
        if is_fair(lock) || !kind.is_ordered() {
            continue;
        }
        let index = index.as_ref();
        let taken = AtomicU64::new(0);
        let put = |own: u64| {
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            for key in (own..KEYS).step_by(2) {
                assert_eq!(index.insert(key, key, caller, ignore), Ok(true), "{name}");
                while key > taken.load(Ordering::Relaxed) + 500 {
                    thread::yield_now();
                }
            }
        };
        let take = || {
            let (caller, ignore) = (&mut caller(lock), &mut NodeSet::untracked());
            let mut own = Vec::new();
            while taken.load(Ordering::Relaxed) < KEYS {
                let (mut oldest, mut nodes) = (None, NodeSet::tracked());
                let mut visit = |key, _| {
                    oldest = Some(key);
                    false
                };
                index.scan(0..=u64::MAX, caller, &mut nodes, &mut visit).unwrap();
                assert!(nodes.seen().len() < 40, "{name}: {} leaves", nodes.seen().len());
                if let Some(key) = oldest
                    && index.remove(key, caller, ignore).is_some()
                {
                    own.push(key);
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            }
            own
        };
        let mut all: Vec<_> = thread::scope(|scope| {
            let (put, take) = (&put, &take);
            for own in 0..2 {
                scope.spawn(move || put(own));
            }
            let takers = [scope.spawn(take), scope.spawn(take)];
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.into_iter().eq(0..KEYS), "{name}");
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
