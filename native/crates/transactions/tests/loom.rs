//! Loom runs the shipped word protocols through every order of threads and every outcome that weak
//! memory allows, and shows that it would have found the known mistakes.
//!
//! `cargo test -p assay-transactions --release --features loom --test loom`

use core::ptr::NonNull;

use assay_transactions::cc::versions::{self, Visible};
use assay_transactions::cc::{lock_word, seqlock};
use assay_transactions::row::Row;
use assay_transactions::tid::{self, LOCKED, header};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

/// Runs a model, and makes sure that it was not vacuous. Loom looks for other orders at each access
/// that conflicts with the *last* access of another kind, so a thread's own load can hide an
/// earlier load of another thread; models are written so that the reader comes second.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let orders = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = orders.clone();
    loom::model(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    assert!(orders.load(std::sync::atomic::Ordering::Relaxed) > 1, "only one order was tried");
}

/// A row with a header and two words that are always equal to its TID.
#[derive(Default)]
struct Cell {
    head: AtomicU64,
    words: [AtomicU64; 2],
}

impl Cell {
    fn copy(&self) -> [u64; 2] {
        [0, 1].map(|place| self.words[place].load(Ordering::Relaxed))
    }

    fn set(&self, value: u64) {
        self.words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }
}

/// The three steps in which right and wrong installs differ.
trait Install {
    fn lock(head: &AtomicU64) -> bool;
    fn begin();
    fn read(cell: &Cell) -> Option<(u64, [u64; 2])>;
}

struct Shipped;

impl Install for Shipped {
    fn lock(head: &AtomicU64) -> bool {
        seqlock::lock(head).is_ok()
    }

    fn begin() {
        seqlock::begin_install();
    }

    fn read(cell: &Cell) -> Option<(u64, [u64; 2])> {
        let mut words = [0; 2];
        let header = seqlock::read(&cell.head, || words = cell.copy()).ok()?;
        Some((header, words))
    }
}

/// Locks with release and without the fence.
struct UnfencedWriter;

impl Install for UnfencedWriter {
    fn lock(head: &AtomicU64) -> bool {
        let before = head.load(Ordering::Relaxed);
        let (taken, failed) = (Ordering::Release, Ordering::Relaxed);
        before & LOCKED == 0
            && head.compare_exchange(before, before | LOCKED, taken, failed).is_ok()
    }

    fn begin() {}

    fn read(cell: &Cell) -> Option<(u64, [u64; 2])> {
        Shipped::read(cell)
    }
}

/// Checks with an acquire load and without the fence.
struct UnfencedReader;

impl Install for UnfencedReader {
    fn lock(head: &AtomicU64) -> bool {
        Shipped::lock(head)
    }

    fn begin() {
        Shipped::begin();
    }

    fn read(cell: &Cell) -> Option<(u64, [u64; 2])> {
        let before = cell.head.load(Ordering::Acquire);
        let words = cell.copy();
        let after = cell.head.load(Ordering::Acquire);
        (before & LOCKED == 0 && before == after).then_some((before, words))
    }
}

fn reads_are_of_one_version<I: Install>() {
    explore(|| {
        let cell = Arc::new(Cell::default());
        let writer = {
            let cell = cell.clone();
            thread::spawn(move || {
                assert!(I::lock(&cell.head));
                I::begin();
                cell.set(1);
                seqlock::publish(&cell.head, header(1));
            })
        };
        if let Some((header, words)) = I::read(&cell) {
            assert_eq!(words, [tid::tid(header); 2], "torn");
        }
        writer.join().unwrap();
    });
}

#[test]
fn an_optimistic_read_is_of_one_version() {
    reads_are_of_one_version::<Shipped>();
}

#[test]
#[should_panic(expected = "torn")]
fn a_writer_without_its_fence_is_rejected() {
    reads_are_of_one_version::<UnfencedWriter>();
}

#[test]
#[should_panic(expected = "torn")]
fn a_reader_without_its_fence_is_rejected() {
    reads_are_of_one_version::<UnfencedReader>();
}

/// Two transactions that each read what the other writes: lock, fence, check the other's header.
fn write_skew(has_fence: bool) {
    explore(move || {
        let heads = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let commit = move |heads: &[AtomicU64; 2], own: usize| {
            assert!(seqlock::lock(&heads[own]).is_ok());
            if has_fence {
                fence(Ordering::SeqCst);
            }
            heads[1 - own].load(Ordering::Relaxed) == 0
        };
        let other = {
            let heads = heads.clone();
            thread::spawn(move || commit(&heads, 1))
        };
        let first = commit(&heads, 0);
        assert!(!(first && other.join().unwrap()), "write skew");
    });
}

#[test]
fn with_the_fence_one_of_two_validations_fails() {
    write_skew(true);
}

#[test]
#[should_panic(expected = "write skew")]
fn without_the_fence_both_may_pass() {
    write_skew(false);
}

/// Multi-version: mark, draw from the counter, check. The counter is the fence.
#[test]
fn drawing_a_timestamp_orders_the_marks() {
    explore(|| {
        let shared = Arc::new((AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]));
        let commit = |(drawn, heads): &(AtomicU64, [AtomicU64; 2]), own: usize| {
            heads[own].store(versions::CLAIMED, Ordering::Release);
            drawn.fetch_add(1, Ordering::AcqRel);
            heads[1 - own].load(Ordering::Relaxed) == 0
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || commit(&shared, 1))
        };
        let first = commit(&shared, 0);
        assert!(!(first && other.join().unwrap()), "write skew");
    });
}

const WORDS: usize = 2;
const PREFIX: usize = 3;

/// A row and a block of loom's atomics, at addresses that stay while the `Arc` does.
struct Rows([[AtomicU64; PREFIX + WORDS]; 2]);

impl Rows {
    fn new() -> Self {
        Self([0, 1].map(|_: usize| core::array::from_fn(|_| AtomicU64::new(0))))
    }

    fn row(&self, place: usize) -> Row {
        // SAFETY: atomics that live as long as `self`.
        unsafe { Row::at(NonNull::from(&self.0[place]).cast()) }
    }
}

/// A snapshot reader beside an install finds exactly the version of its snapshot, without waiting.
fn a_snapshot_finds_its_version(links_first: bool) {
    explore(move || {
        let rows = Arc::new(Rows::new());
        let reader = {
            let rows = rows.clone();
            thread::spawn(move || read_both_snapshots(rows.row(0)))
        };
        let (row, block) = (rows.row(0), rows.row(1));
        let before = seqlock::lock(row.head()).unwrap();
        versions::keep(row, before, block, PREFIX, WORDS);
        if links_first {
            versions::link(row, block);
        }
        versions::install(row, before, 1, || row.set_words(PREFIX, &[1, 1]));
        if !links_first {
            versions::link(row, block);
        }
        reader.join().unwrap();
    });
}

fn read_both_snapshots(row: Row) {
    let mut words = [0_u8; WORDS * 8];
    // SAFETY: nothing is reused in this model.
    let seen = unsafe { versions::read(row, 0, |row| row.copy_to(PREFIX, &mut words)) };
    assert!(matches!(seen, Visible::Newest(0) | Visible::Older(0)), "lost: {seen:?}");
    assert_eq!(words, [0; WORDS * 8], "of another version");
    // SAFETY: as above.
    let seen = unsafe { versions::read(row, 1, |row| row.copy_to(PREFIX, &mut words)) };
    match seen {
        Visible::Newest(seen) => {
            let value = tid::tid(seen).to_ne_bytes();
            assert!(words.chunks_exact(8).all(|word| word == value), "torn");
        }
        // While the row is being changed, as a snapshot before its commit would.
        Visible::Older(seen) => assert_eq!((seen, words), (0, [0; WORDS * 8])),
        other => panic!("lost: {other:?}"),
    }
}

#[test]
fn a_snapshot_reader_beside_an_install_finds_its_version() {
    a_snapshot_finds_its_version(true);
}

#[test]
#[should_panic(expected = "lost")]
fn installing_before_the_old_version_is_linked_is_rejected() {
    a_snapshot_finds_its_version(false);
}

/// Two holders of the lock word: exclusive hold hands over what was written; shared holds keep
/// writers out. Of two that upgrade, the older gets through and the younger gives up.
#[test]
fn a_lock_word_hands_over_what_was_written() {
    explore(|| {
        let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let work = |(lock, value): &(AtomicU64, AtomicU64), age: u64| {
            while lock_word::exclude(lock, age, 0).is_err() {
                thread::yield_now();
            }
            value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            lock_word::leave_exclusive(lock);
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || work(&shared, 2))
        };
        work(&shared, 1);
        other.join().unwrap();
        assert_eq!(shared.1.load(Ordering::Relaxed), 2);
        assert_eq!(shared.0.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_reader_with_the_lock_sees_no_writer() {
    explore(|| {
        let shared = Arc::new((AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                if lock_word::exclude(&shared.0, 2, 0).is_ok() {
                    shared.1.iter().for_each(|word| word.store(1, Ordering::Relaxed));
                    lock_word::leave_exclusive(&shared.0);
                }
            })
        };
        let (lock, words) = &*shared;
        if lock_word::share(lock, 1).is_ok() {
            let seen = [0, 1].map(|place: usize| words[place].load(Ordering::Relaxed));
            assert_eq!(seen[0], seen[1], "torn");
            lock_word::leave_shared(lock);
        }
        writer.join().unwrap();
        assert_eq!(lock.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn of_two_that_upgrade_the_older_waits_and_the_younger_dies() {
    explore(|| {
        let lock = Arc::new(AtomicU64::new(0));
        lock_word::share(&lock, 1).unwrap();
        lock_word::share(&lock, 2).unwrap();
        let upgrade = |lock: &AtomicU64, age: u64| loop {
            match lock_word::exclude(lock, age, 1) {
                Ok(()) => {
                    lock_word::leave_exclusive(lock);
                    return true;
                }
                Err(word) if lock_word::is_older(age, word) => thread::yield_now(),
                Err(_) => {
                    lock_word::leave_shared(lock);
                    return false;
                }
            }
        };
        let younger = {
            let lock = lock.clone();
            thread::spawn(move || upgrade(&lock, 2))
        };
        assert!(upgrade(&lock, 1), "the oldest gets through");
        younger.join().unwrap();
        assert_eq!(lock.load(Ordering::Relaxed), 0);
    });
}
