//! Loom runs the shipped protocols through every order of threads and every outcome that weak
//! memory allows, and shows that it would have found the known mistakes.
//!
//! `cargo test -p assay-index --release --features loom --test loom trees`
//!
//! With the feature `loom` nodes have 4 entries and segments 2 slots, so that splits and crossings are
//! within reach. The models of whole indexes are bounded to 1 or 2 preemptions;
//! those of the version word are exhaustive.

use assay_index::caller::{Attempt, Restart};
use assay_index::version::Version;
use assay_index::{HashIndex, Index, NodeSet, OptimisticTree};
use assay_primitives::LockKind;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

use crate::support::caller;

/// A lock word with the two operations in which the protocols differ.
trait Protocol: Default + Send + Sync + 'static {
    fn read(&self) -> Attempt<u64>;
    fn check(&self, version: u64) -> Attempt<()>;
    fn write(&self, version: u64, body: impl FnOnce()) -> Attempt<()>;
}

impl Protocol for Version {
    fn read(&self) -> Attempt<u64> {
        self.read()
    }

    fn check(&self, version: u64) -> Attempt<()> {
        self.check(version)
    }

    fn write(&self, version: u64, body: impl FnOnce()) -> Attempt<()> {
        let mut lock = self.lock(version)?;
        lock.change();
        body();
        Ok(())
    }
}

/// The word with each half of the popular mistake to choose: `WRITER` locks with release and no
/// fence, `READER` checks with an acquire load and no fence.
struct Mistaken<const WRITER: bool, const READER: bool>(AtomicU64);

impl<const WRITER: bool, const READER: bool> Default for Mistaken<WRITER, READER> {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl<const WRITER: bool, const READER: bool> Protocol for Mistaken<WRITER, READER> {
    fn read(&self) -> Attempt<u64> {
        let version = self.0.load(Ordering::Acquire);
        if version & 1 == 0 { Ok(version) } else { Err(Restart) }
    }

    fn check(&self, version: u64) -> Attempt<()> {
        let order = if READER {
            Ordering::Acquire
        } else {
            fence(Ordering::Acquire);
            Ordering::Relaxed
        };
        if self.0.load(order) == version { Ok(()) } else { Err(Restart) }
    }

    fn write(&self, version: u64, body: impl FnOnce()) -> Attempt<()> {
        let order = if WRITER { Ordering::Release } else { Ordering::Acquire };
        let taken = self.0.compare_exchange(version, version | 1, order, Ordering::Relaxed);
        taken.map_err(|_| Restart)?;
        if !WRITER {
            fence(Ordering::Release);
        }
        body();
        self.0.store(version + 2, Ordering::Release);
        Ok(())
    }
}

/// Two words that are always equal, written by one thread and read by another.
fn words_are_read_together<P: Protocol>() {
    loom::model(|| {
        let shared = Arc::new((P::default(), AtomicU64::new(0), AtomicU64::new(0)));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (word, one, two) = &*shared;
                word.write(0, || {
                    one.store(1, Ordering::Relaxed);
                    two.store(1, Ordering::Relaxed);
                })
            })
        };
        let (word, one, two) = &*shared;
        if let Ok(version) = word.read() {
            let pair = (one.load(Ordering::Relaxed), two.load(Ordering::Relaxed));
            if word.check(version).is_ok() {
                assert_eq!(pair.0, pair.1, "torn");
                assert_eq!(pair.0 * 2, version, "of another version");
            }
        }
        assert_eq!(writer.join().unwrap(), Ok(()));
    });
}

#[test]
fn an_optimistic_read_is_of_one_moment() {
    words_are_read_together::<Version>();
    words_are_read_together::<Mistaken<false, false>>();
}

#[test]
#[should_panic(expected = "torn")]
fn the_popular_pair_of_orders_is_rejected() {
    words_are_read_together::<Mistaken<true, true>>();
}

#[test]
#[should_panic(expected = "torn")]
fn locking_with_release_alone_is_rejected() {
    words_are_read_together::<Mistaken<true, false>>();
}

#[test]
#[should_panic(expected = "torn")]
fn checking_with_an_acquire_load_alone_is_rejected() {
    words_are_read_together::<Mistaken<false, true>>();
}

#[test]
fn of_two_writers_from_one_version_one_succeeds() {
    loom::model(|| {
        let shared = Arc::new((Version::default(), AtomicU64::new(0)));
        let write = |shared: &(Version, AtomicU64)| {
            let (word, value) = shared;
            let add = || value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            word.write(0, add).is_ok()
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || write(&shared))
        };
        let own = write(&shared);
        assert!(own ^ other.join().unwrap());
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
    });
}

fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// Both sides are threads of their own: loom explores next to nothing between a thread and the
/// model's first one when that has done much before.
fn found_while_inserting(settled: &'static [u64], new: u64, sought: u64) {
    bounded(1, move || {
        let tree = Arc::new(OptimisticTree::new());
        let ignore = &mut NodeSet::untracked();
        let own = &mut caller(LockKind::Ttas);
        for &key in settled {
            tree.insert(key, key, own, ignore).unwrap();
        }
        let run = |operation: fn(&OptimisticTree, u64) -> bool, key| {
            let tree = tree.clone();
            thread::spawn(move || operation(&tree, key))
        };
        let writer = run(insert, new);
        let reader = run(|tree, key| find(tree, key) == Some(key), sought);
        assert!(reader.join().unwrap(), "a settled key was missed");
        assert!(writer.join().unwrap());
        assert!([new, sought].into_iter().all(|key| find(&tree, key) == Some(key)));
    });
}

fn insert(tree: &OptimisticTree, key: u64) -> bool {
    tree.insert(key, key, &mut caller(LockKind::Ttas), &mut NodeSet::untracked()).unwrap()
}

fn find(tree: &OptimisticTree, key: u64) -> Option<u64> {
    tree.find(key, &mut caller(LockKind::Ttas), &mut NodeSet::untracked())
}

/// The fifth key splits the root, a leaf of four, under the reader.
#[test]
fn a_reader_finds_settled_keys_while_the_root_splits() {
    found_while_inserting(&[10, 20, 30, 40], 35, 40);
}

/// The seventh key splits the upper leaf, and the key sought moves to the new one.
#[test]
fn a_reader_finds_settled_keys_while_a_leaf_splits() {
    found_while_inserting(&[10, 20, 30, 40, 50, 60], 55, 60);
}

/// Each inserts its key after missing the other's: not both may validate.
fn never_both_alone(make: impl Fn() -> Box<dyn Index> + Send + Sync + 'static) {
    bounded(2, move || {
        let index: Arc<Box<dyn Index>> = Arc::new(make());
        let attempt = |mine: u64, theirs: u64| {
            let index = index.clone();
            thread::spawn(move || {
                let index = index.as_ref().as_ref();
                let (own, nodes) = (&mut caller(LockKind::Ttas), &mut NodeSet::tracked());
                let absent = index.find(theirs, own, nodes).is_none();
                assert_eq!(index.insert(mine, 1, own, nodes), Ok(true));
                absent && nodes.validate(index)
            })
        };
        let alone = [attempt(1, 2), attempt(2, 1)].map(|thread| thread.join().unwrap());
        assert_ne!(alone, [true, true], "write skew");
    });
}

#[test]
fn tree_node_sets_prevent_write_skew() {
    never_both_alone(|| Box::new(OptimisticTree::new()));
}

#[test]
fn hash_node_sets_prevent_write_skew() {
    never_both_alone(|| Box::new(HashIndex::new(2)));
}

#[test]
fn of_two_inserts_of_a_key_into_the_hash_index_one_succeeds() {
    bounded(2, || {
        let index = Arc::new(HashIndex::new(2));
        let insert = |index: &HashIndex, reference| {
            let own = &mut caller(LockKind::Ttas);
            index.insert(7, reference, own, &mut NodeSet::untracked()).unwrap()
        };
        let other = {
            let index = index.clone();
            thread::spawn(move || insert(&index, 1))
        };
        let own = insert(&index, 2);
        let expected = if own { 2 } else { 1 };
        assert!(own ^ other.join().unwrap());
        let found = index.find(7, &mut caller(LockKind::Ttas), &mut NodeSet::untracked());
        assert_eq!(found, Some(expected));
    });
}
