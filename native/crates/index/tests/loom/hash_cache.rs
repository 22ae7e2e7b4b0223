//! The hash table before a tree under loom: the shipped one, and a twin with one entry that can
//! leave out each of its precautions, which loom must reject.
//!
//!     cargo test -p assay-index --release --features loom --test loom hash_cache
//!
//! The tree is a single atomic word, so that loom can try every order of threads around it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use assay_index::{
    Caller, Find, HashCached, HashIndex, Index, IndexError, NO_REFERENCE, NodeSet, NodeVersion,
    Visit,
};
use assay_primitives::LockKind;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

use crate::support::caller;

/// A tree of one key.
struct OneKey(AtomicU64);

impl OneKey {
    fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Acquire)).filter(|&reference| reference != NO_REFERENCE)
    }

    fn add(&self, reference: u64) -> bool {
        let (new, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.0.compare_exchange(NO_REFERENCE, reference, new, failed).is_ok()
    }

    fn take(&self) -> Option<u64> {
        let before = self.0.swap(NO_REFERENCE, Ordering::AcqRel);
        Some(before).filter(|&reference| reference != NO_REFERENCE)
    }
}

// SAFETY: one key, whose reference is one atomic word.
unsafe impl Index for OneKey {
    fn find_function() -> Find<Self> {
        |index, _, _, _| index.get()
    }

    fn find(&self, _: u64, _: &mut Caller, _: &mut NodeSet) -> Option<u64> {
        self.get()
    }

    fn insert(
        &self,
        _: u64,
        reference: u64,
        _: &mut Caller,
        _: &mut NodeSet,
    ) -> Result<bool, IndexError> {
        Ok(self.add(reference))
    }

    fn remove(&self, _: u64, _: &mut Caller, _: &mut NodeSet) -> Option<u64> {
        self.take()
    }

    fn scan(
        &self,
        _: RangeInclusive<u64>,
        _: &mut Caller,
        _: &mut NodeSet,
        visit: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        if let Some(reference) = self.get() {
            visit(KEY, reference);
        }
        Ok(())
    }

    fn scan_back(
        &self,
        _: RangeInclusive<u64>,
        _: &mut Caller,
        _: &mut NodeSet,
        _: &mut Visit<'_>,
    ) -> Result<(), IndexError> {
        Err(IndexError::Unordered)
    }

    fn validate(&self, _: NodeVersion) -> bool {
        true
    }
}

/// What the models do with the shipped table and with the twin.
trait Map: Send + Sync + 'static {
    fn find(&self) -> Option<u64>;
    fn insert(&self, reference: u64) -> bool;
    fn remove(&self) -> Option<u64>;
    /// What a scan finds, which goes past the table.
    fn scan(&self) -> Option<u64>;
}

const KEY: u64 = 7;

impl Map for HashCached<OneKey> {
    fn find(&self) -> Option<u64> {
        Index::find(self, KEY, &mut caller(LockKind::Ttas), &mut NodeSet::untracked())
    }

    fn insert(&self, reference: u64) -> bool {
        let (caller, ignore) = (&mut caller(LockKind::Ttas), &mut NodeSet::untracked());
        Index::insert(self, KEY, reference, caller, ignore).unwrap()
    }

    fn remove(&self) -> Option<u64> {
        Index::remove(self, KEY, &mut caller(LockKind::Ttas), &mut NodeSet::untracked())
    }

    fn scan(&self) -> Option<u64> {
        let (caller, ignore) = (&mut caller(LockKind::Ttas), &mut NodeSet::untracked());
        let mut found = None;
        let mut visit = |_, reference| {
            found = Some(reference);
            true
        };
        Index::scan(self, KEY..=KEY, caller, ignore, &mut visit).unwrap();
        found
    }
}

/// What the twin leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The entry is emptied after the tree has changed, and the removal is not marked before.
    EmptiesAfter,
    /// The entry is emptied before the tree changes, and the removal is over for it then.
    EmptiesBefore,
    /// Publishes whatever the state was when the tree was asked.
    PublishesLate,
    /// Does not look for removals that began while it wrote the entry.
    IgnoresRemovals,
}

const EMPTY: u64 = u64::MAX;
const WRITING: u64 = 1;
const REMOVAL: u64 = 1 << 1;
const VERSION: u64 = 1 << 16;

/// The protocol of `hash_cache` for one key: an entry is its reference alone.
struct Twin {
    tree: OneKey,
    state: AtomicU64,
    entry: AtomicU64,
    fault: Fault,
}

impl Twin {
    fn publish(&self, reference: u64, mut state: u64) {
        if self.fault == Fault::PublishesLate {
            state = self.state.load(Ordering::Acquire);
        }
        let writing = state | WRITING;
        let (taken, failed) = (Ordering::Acquire, Ordering::Relaxed);
        let is_quiet = state & (VERSION - 1) == 0;
        if !is_quiet || self.state.compare_exchange(state, writing, taken, failed).is_err() {
            return;
        }
        fence(Ordering::Release);
        self.entry.store(reference, Ordering::Relaxed);
        if self.fault == Fault::IgnoresRemovals {
            self.state.fetch_add(VERSION - WRITING, Ordering::Release);
            return;
        }
        let written = state + VERSION;
        if self.state.compare_exchange(writing, written, Ordering::Release, failed).is_err() {
            self.entry.store(EMPTY, Ordering::Relaxed);
            self.state.fetch_add(VERSION - WRITING, Ordering::Release);
        }
    }
}

impl Map for Twin {
    fn find(&self) -> Option<u64> {
        let state = self.state.load(Ordering::Acquire);
        if state & (VERSION - 1) == 0 {
            let found = self.entry.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if found != EMPTY && self.state.load(Ordering::Relaxed) == state {
                return Some(found);
            }
        }
        let found = self.tree.get()?;
        self.publish(found, state);
        Some(found)
    }

    fn insert(&self, reference: u64) -> bool {
        self.tree.add(reference)
    }

    fn remove(&self) -> Option<u64> {
        let begin = || {
            self.state.fetch_add(REMOVAL, Ordering::AcqRel);
            self.entry.store(EMPTY, Ordering::Relaxed);
        };
        let end = || self.state.fetch_add(VERSION - REMOVAL, Ordering::Release);
        if self.fault == Fault::EmptiesAfter {
            let found = self.tree.take();
            begin();
            end();
            return found;
        }
        begin();
        if self.fault == Fault::EmptiesBefore {
            end();
            return self.tree.take();
        }
        let found = self.tree.take();
        end();
        found
    }

    fn scan(&self) -> Option<u64> {
        self.tree.get()
    }
}

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn spawn<M: Map>(map: &Arc<M>, body: impl FnOnce(&M) + Send + 'static) -> thread::JoinHandle<()> {
    let map = map.clone();
    thread::spawn(move || body(&map))
}

/// A reader publishes while the key is removed and comes back: once the reader is told what has
/// happened, it must answer accordingly, and at the end everybody must.
fn removed_and_back<M: Map>(warm: bool, make: fn() -> M) {
    explore(2, move || {
        let (map, told) = (Arc::new(make()), Arc::new(AtomicU64::new(0)));
        assert!(map.insert(1));
        if warm {
            assert_eq!(map.find(), Some(1));
        }
        let writer = spawn(&map, {
            let told = told.clone();
            move |map| {
                assert_eq!(map.remove(), Some(1));
                told.store(1, Ordering::Release);
                assert!(map.insert(2));
                told.store(2, Ordering::Release);
            }
        });
        let reader = spawn(&map, move |map| {
            for _ in 0..2 {
                let known = told.load(Ordering::Acquire);
                let found = map.find();
                let is_right = match known {
                    0 => true,
                    1 => found != Some(1),
                    _ => found == Some(2),
                };
                assert!(is_right, "stale: {found:?} after {known}");
            }
        });
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(map.find(), Some(2), "stale at the end");
    });
}

/// One reader meets the tree in the middle of the removal and tells another: that one must not
/// find the key any more.
fn told_by_a_reader<M: Map>(make: fn() -> M) {
    explore(2, move || {
        let (map, gone) = (Arc::new(make()), Arc::new(AtomicU64::new(0)));
        assert!(map.insert(1));
        assert_eq!(map.find(), Some(1));
        let writer = spawn(&map, |map| {
            assert_eq!(map.remove(), Some(1));
        });
        let first = spawn(&map, {
            let gone = gone.clone();
            move |map| {
                if map.scan().is_none() {
                    gone.store(1, Ordering::Release);
                }
            }
        });
        let was_gone = gone.load(Ordering::Acquire) == 1;
        let found = map.find();
        assert!(!was_gone || found.is_none(), "stale: told by a reader");
        writer.join().unwrap();
        first.join().unwrap();
        assert_eq!(map.find(), None, "stale at the end");
    });
}

fn shipped() -> HashCached<OneKey> {
    HashCached::new(OneKey(AtomicU64::new(NO_REFERENCE)), 1)
}

fn twin(fault: Fault) -> Twin {
    let tree = OneKey(AtomicU64::new(NO_REFERENCE));
    Twin { tree, state: AtomicU64::new(0), entry: AtomicU64::new(EMPTY), fault }
}

#[test]
fn a_removed_key_is_gone_and_comes_back_as_it_is() {
    removed_and_back(false, shipped);
    removed_and_back(true, shipped);
}

#[test]
fn who_is_told_by_a_reader_finds_no_more_than_it_did() {
    told_by_a_reader(shipped);
}

#[test]
fn a_key_has_its_own_reference_while_another_takes_its_entry() {
    explore(2, || {
        let (own, ignore) = (&mut caller(LockKind::Ttas), &mut NodeSet::untracked());
        let index = Arc::new(HashCached::new(HashIndex::new(2), 1));
        for key in [1, 2] {
            index.insert(key, key * 10, own, ignore).unwrap();
        }
        // The first is hot, and looked up again while the second replaces it.
        index.find(1, own, ignore);
        let find = |key: u64| {
            let index = index.clone();
            thread::spawn(move || {
                let (own, ignore) = (&mut caller(LockKind::Ttas), &mut NodeSet::untracked());
                assert_eq!(index.find(key, own, ignore), Some(key * 10), "torn");
            })
        };
        for thread in [find(2), find(1)] {
            thread.join().unwrap();
        }
    });
}

#[test]
fn the_right_twin_passes() {
    removed_and_back(false, || twin(Fault::None));
    removed_and_back(true, || twin(Fault::None));
    told_by_a_reader(|| twin(Fault::None));
}

#[test]
#[should_panic(expected = "stale: told by a reader")]
fn emptying_after_the_tree_s_change_is_rejected() {
    told_by_a_reader(|| twin(Fault::EmptiesAfter));
}

#[test]
#[should_panic(expected = "stale")]
fn emptying_only_before_the_tree_s_change_is_rejected() {
    removed_and_back(false, || twin(Fault::EmptiesBefore));
}

#[test]
#[should_panic(expected = "stale")]
fn publishing_what_the_tree_said_before_a_removal_is_rejected() {
    removed_and_back(false, || twin(Fault::PublishesLate));
}

#[test]
#[should_panic(expected = "stale")]
fn publishing_past_a_removal_that_has_begun_is_rejected() {
    removed_and_back(false, || twin(Fault::IgnoresRemovals));
}
