//! Loom runs the shipped locks through every order of threads and every outcome that weak memory
//! allows; and twins of them, wrong in one way each, which loom must reject.
//!
//!     cargo test -p assay-primitives --release --features loom --test loom
//!
//! What a lock guards is a cell that is not atomic: loom rejects two threads inside at once, and
//! also one that comes after another without the release and the acquire that make the first one's
//! work visible. A wait that nobody ends is a deadlock, or more steps than a model may have.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::{Arc, LazyLock};

use assay_primitives::locks::sync::{
    AtomicPtr, AtomicU32, AtomicU64, FutexWord, Ordering, store_over_swaps, yield_cpu,
};
use assay_primitives::locks::{FutexLock, McsLock, TicketLock, Waiting, WordLock};
use assay_primitives::{Clock, Hint, LockContext, LockKind, RawLock};
use loom::cell::UnsafeCell;
use loom::thread;

static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrated);

/// Something that keeps threads apart while they run `body`.
trait Exclusion: Send + Sync + 'static {
    fn with(&self, body: &mut dyn FnMut());
}

/// A shipped lock, taken as all code takes it.
struct Shipped<L> {
    lock: L,
    waiting: Waiting,
}

impl<L: RawLock> Exclusion for Shipped<L> {
    fn with(&self, body: &mut dyn FnMut()) {
        LockContext::new(self.waiting).with(&self.lock, body);
    }
}

struct Counted<E> {
    exclusion: E,
    cell: UnsafeCell<usize>,
}

// SAFETY: reached only inside the exclusion; where that fails, loom says so.
unsafe impl<E: Sync> Sync for Counted<E> {}

impl<E: Exclusion> Counted<E> {
    fn add(&self, times: usize) {
        for _ in 0..times {
            self.exclusion.with(&mut || {
                // SAFETY: loom checks that no other thread is inside.
                self.cell.with_mut(|cell| unsafe { *cell += 1 });
            });
        }
    }
}

/// Each of `threads` adds `times`. Nothing may be lost, and everybody must come to an end.
fn add_up<E: Exclusion>(
    threads: usize,
    times: usize,
    preemptions: Option<usize>,
    make: impl Fn() -> E + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        let shared = Arc::new(Counted { exclusion: make(), cell: UnsafeCell::new(0) });
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || shared.add(times))
            })
            .collect();
        shared.add(times);
        for other in others {
            other.join().unwrap();
        }
        // SAFETY: all other threads have ended.
        let total = shared.cell.with(|cell| unsafe { *cell });
        assert_eq!(total, threads * times, "an addition is lost");
    });
}

/// `limit`: for back-off one hint, then the CPU; for the futex one look, then sleep.
fn shipped<L: RawLock + Default>(kind: LockKind, limit: u32) {
    let _ = *CLOCK;
    let make = move || {
        let waiting = Waiting::new(kind, Hint::None, limit, *CLOCK).unwrap();
        Shipped { lock: L::default(), waiting }
    };
    add_up(2, 1, None, make);
    add_up(2, 2, Some(3), make);
    add_up(3, 1, Some(3), make);
}

#[test]
fn test_and_set_keeps_threads_apart() {
    shipped::<WordLock>(LockKind::Tas, 1);
}

#[test]
fn test_and_test_and_set_keeps_threads_apart() {
    shipped::<WordLock>(LockKind::Ttas, 1);
}

#[test]
fn backing_off_keeps_threads_apart() {
    shipped::<WordLock>(LockKind::Backoff, 2);
}

#[test]
fn tickets_keep_threads_apart() {
    shipped::<TicketLock>(LockKind::Ticket, 1);
}

#[test]
fn the_queue_keeps_threads_apart_and_hands_over_to_each() {
    shipped::<McsLock>(LockKind::Mcs, 1);
}

#[test]
fn the_futex_keeps_threads_apart_and_loses_no_wake_up() {
    shipped::<FutexLock>(LockKind::Futex, 1);
}

/// The two orders of a lock of one word, `tas`.
struct Word {
    word: AtomicU64,
    acquire: Ordering,
    release: Ordering,
}

impl Exclusion for Word {
    fn with(&self, body: &mut dyn FnMut()) {
        while self.word.swap(1, self.acquire) != 0 {
            yield_cpu();
        }
        body();
        store_over_swaps(&self.word, 0, self.release);
    }
}

fn word(acquire: Ordering, release: Ordering) {
    add_up(2, 1, None, move || Word { word: AtomicU64::new(0), acquire, release });
}

#[test]
fn the_right_word_passes() {
    word(Ordering::Acquire, Ordering::Release);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_released_without_release_is_rejected() {
    word(Ordering::Acquire, Ordering::Relaxed);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_word_taken_without_acquire_is_rejected() {
    word(Ordering::Relaxed, Ordering::Release);
}

struct Ticket {
    next: AtomicU32,
    serving: AtomicU32,
    acquire: Ordering,
}

impl Exclusion for Ticket {
    fn with(&self, body: &mut dyn FnMut()) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        while self.serving.load(self.acquire) != ticket {
            yield_cpu();
        }
        body();
        self.serving.store(ticket + 1, Ordering::Release);
    }
}

fn ticket(acquire: Ordering) {
    let zero = || AtomicU32::new(0);
    add_up(2, 1, None, move || Ticket { next: zero(), serving: zero(), acquire });
}

#[test]
fn the_right_ticket_passes() {
    ticket(Ordering::Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_ticket_served_without_acquire_is_rejected() {
    ticket(Ordering::Relaxed);
}

/// What a twin does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Futex: the holder never wakes anybody.
    NoWakeUp,
    /// Futex: who slept takes the word as if nobody else slept.
    ForgetsSleepers,
    /// Futex: goes to sleep without the kernel's comparison with the word.
    SleepsUnseen,
    /// Queue: with nobody linked behind it, the holder does not look whether somebody is coming.
    HandsOverBeforeLink,
    /// Queue: the waiter says that it waits only after it has linked itself.
    WaitsAfterLink,
    /// Queue: the hand-over does not release.
    HandsOverRelaxed,
}

struct Futex {
    word: FutexWord,
    fault: Fault,
}

impl Futex {
    fn take(&self) -> bool {
        let word = self.word.atomic();
        word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl Exclusion for Futex {
    fn with(&self, body: &mut dyn FnMut()) {
        let word = self.word.atomic();
        if !self.take() {
            while word.swap(2, Ordering::Acquire) != 0 {
                let seen = if self.fault == Fault::SleepsUnseen {
                    word.load(Ordering::Relaxed)
                } else {
                    2
                };
                self.word.sleep_while(seen);
                if self.fault == Fault::ForgetsSleepers && self.take() {
                    break;
                }
            }
        }
        body();
        if word.swap(0, Ordering::Release) == 2 && self.fault != Fault::NoWakeUp {
            self.word.wake_one();
        }
    }
}

fn futex(threads: usize, fault: Fault) {
    add_up(threads, 1, Some(3), move || Futex { word: FutexWord::default(), fault });
}

#[test]
fn the_right_futex_passes() {
    futex(2, Fault::None);
    futex(3, Fault::None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_futex_without_a_wake_up_is_rejected() {
    futex(2, Fault::NoWakeUp);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_futex_that_forgets_other_sleepers_is_rejected() {
    futex(3, Fault::ForgetsSleepers);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleep_that_does_not_compare_with_the_mark_is_rejected() {
    futex(2, Fault::SleepsUnseen);
}

#[derive(Default)]
struct Node {
    next: AtomicPtr<Node>,
    waiting: AtomicU32,
}

struct Queue {
    tail: AtomicPtr<Node>,
    fault: Fault,
}

impl Queue {
    fn enter(&self, node: &Node) {
        let own = std::ptr::from_ref(node).cast_mut();
        if self.fault != Fault::WaitsAfterLink {
            node.waiting.store(1, Ordering::Relaxed);
        }
        let before = self.tail.swap(own, Ordering::AcqRel);
        if before.is_null() {
            return;
        }
        // SAFETY: the predecessor's node lives until it has seen the link.
        unsafe { &*before }.next.store(own, Ordering::Release);
        if self.fault == Fault::WaitsAfterLink {
            node.waiting.store(1, Ordering::Relaxed);
        }
        while node.waiting.load(Ordering::Acquire) == 1 {
            yield_cpu();
        }
    }

    fn leave(&self, node: &Node) {
        let own = std::ptr::from_ref(node).cast_mut();
        let mut next = node.next.load(Ordering::Acquire);
        if next.is_null() {
            let free = std::ptr::null_mut();
            if self.fault == Fault::HandsOverBeforeLink {
                self.tail.store(free, Ordering::Release);
                return;
            }
            let freed = self.tail.compare_exchange(own, free, Ordering::Release, Ordering::Relaxed);
            if freed.is_ok() {
                return;
            }
            while next.is_null() {
                yield_cpu();
                next = node.next.load(Ordering::Acquire);
            }
        }
        let release = match self.fault {
            Fault::HandsOverRelaxed => Ordering::Relaxed,
            _ => Ordering::Release,
        };
        // SAFETY: a linked successor waits on its node until this store.
        unsafe { &*next }.waiting.store(0, release);
    }
}

impl Exclusion for Queue {
    fn with(&self, body: &mut dyn FnMut()) {
        // Leaked: a wrong hand-over lets a neighbour write to a node after its time.
        let node = Box::leak(Box::new(Node::default()));
        self.enter(node);
        body();
        self.leave(node);
    }
}

fn queue(threads: usize, fault: Fault) {
    add_up(threads, 1, Some(3), move || Queue { tail: AtomicPtr::default(), fault });
}

#[test]
fn the_right_queue_passes() {
    queue(2, Fault::None);
    queue(3, Fault::None);
}

#[test]
#[should_panic(expected = "exceeded maximum number of branches")]
fn a_queue_that_hands_over_before_the_link_is_rejected() {
    queue(2, Fault::HandsOverBeforeLink);
}

#[test]
#[should_panic(expected = "exceeded maximum number of branches")]
fn a_waiter_that_says_so_after_its_link_is_rejected() {
    queue(2, Fault::WaitsAfterLink);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_queue_that_hands_over_without_release_is_rejected() {
    queue(2, Fault::HandsOverRelaxed);
}
