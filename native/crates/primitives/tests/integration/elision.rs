//! The retry policy of elided locks, on a model of transactions that aborts as a test says; and the
//! real ones where this CPU has them.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::sync::atomic::{AtomicBool, Ordering};

use assay_primitives::arch::all::hint::Nothing;
use assay_primitives::htm::{self, AbortCode, Begun, Htm, HtmState};
use assay_primitives::locks::elided::elided_slow;
use assay_primitives::locks::{ElidedLock, ElisionCounts, Waiting};
use assay_primitives::{Clock, Contention, Hint, LockContext, RawLock};

/// Transactions that come out as the thread's script says; at its end they start.
struct Scripted;

thread_local! {
    static SCRIPT: RefCell<Vec<AbortCode>> = const { RefCell::new(Vec::new()) };
    static BEGUN: Cell<u32> = const { Cell::new(0) };
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

static MET_A_HOLDER: AtomicBool = AtomicBool::new(false);

impl Htm for Scripted {
    fn begin() -> Begun {
        assert!(!IS_INSIDE.get(), "a transaction in a transaction");
        BEGUN.set(BEGUN.get() + 1);
        let next = SCRIPT.with_borrow_mut(|script| (!script.is_empty()).then(|| script.remove(0)));
        IS_INSIDE.set(next.is_none());
        next.map_or(Begun::Started, Begun::Aborted)
    }

    unsafe fn end() {
        assert!(IS_INSIDE.replace(false), "nothing to commit");
    }

    fn abort() {
        assert!(IS_INSIDE.replace(false), "nothing to abort");
        MET_A_HOLDER.store(true, Ordering::Release);
    }
}

type Lock = ElidedLock<Scripted>;

unsafe extern "C" fn slow(lock: *const (), token: usize, retries: u32) -> u64 {
    // SAFETY: called by a `LockContext` only, with what `Lock::enter` returned.
    unsafe { elided_slow::<Scripted, Nothing>(lock, token, retries) }
}

fn waiter(retries: u32) -> LockContext<Lock> {
    // SAFETY: `slow` is the waiting of `Lock`, the only lock here.
    LockContext::new(unsafe { Waiting::modelled::<Lock>(slow, retries, Clock::calibrated()) })
}

fn scripted(codes: &[u32]) {
    SCRIPT.set(codes.iter().copied().map(AbortCode).collect());
    BEGUN.set(0);
}

#[test]
fn aborts_are_retried_while_that_may_help_and_then_the_lock_is_taken() {
    const RETRY: u32 = AbortCode::CONFLICT | AbortCode::RETRY;
    const FULL: u32 = AbortCode::CAPACITY;
    let counts = |elided, fallbacks, conflicts, capacity, other| ElisionCounts {
        elided,
        fallbacks,
        conflicts,
        capacity,
        lock_held: 0,
        other,
    };
    // Script, retries allowed, transactions begun, counts.
    let cases: [(&[u32], u32, u32, ElisionCounts); 9] = [
        (&[], 3, 1, counts(1, 0, 0, 0, 0)),
        (&[RETRY], 3, 2, counts(1, 0, 1, 0, 0)),
        (&[RETRY, RETRY, RETRY], 3, 4, counts(1, 0, 3, 0, 0)),
        (&[RETRY, RETRY, RETRY, RETRY], 3, 4, counts(0, 1, 4, 0, 0)),
        (&[RETRY], 0, 1, counts(0, 1, 1, 0, 0)),
        (&[FULL], 3, 1, counts(0, 1, 0, 1, 0)),
        (&[RETRY, FULL], 3, 2, counts(0, 1, 1, 1, 0)),
        (&[0], 3, 1, counts(0, 1, 0, 0, 1)),
        (&[AbortCode::CONFLICT], 3, 1, counts(0, 1, 1, 0, 0)),
    ];
    for (script, retries, begun, expected) in cases {
        let (lock, mut waiter) = (Lock::default(), waiter(retries));
        scripted(script);
        let was_inside = waiter.with(&lock, || IS_INSIDE.get());
        assert_eq!(waiter.elision(), expected, "{script:?} with {retries} retries");
        assert_eq!(BEGUN.get(), begun, "{script:?} with {retries} retries");
        assert_eq!(was_inside, expected.elided == 1);
        assert!(!IS_INSIDE.get(), "left in a transaction");
        let Contention { grabs, waits, .. } = waiter.counts();
        assert_eq!((grabs, waits), (1, u64::from(!script.is_empty())));
        // The lock is free again, whichever way it was left.
        waiter.with(&lock, || ());
        assert_eq!(waiter.elision().elided, expected.elided + 1);
    }
}

#[test]
fn a_held_lock_aborts_the_transaction_and_is_waited_for_before_the_next() {
    let lock = Lock::default();
    let is_held = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            scripted(&[0]);
            waiter(3).with(&lock, || {
                is_held.store(true, Ordering::Release);
                while !MET_A_HOLDER.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            });
        });
        while !is_held.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let mut waiter = waiter(1);
        scripted(&[]);
        waiter.with(&lock, || assert!(IS_INSIDE.get()));
        // With a single retry it cannot have tried again before the lock was free.
        let counts = ElisionCounts { elided: 1, lock_held: 1, ..ElisionCounts::default() };
        assert_eq!((waiter.elision(), BEGUN.get()), (counts, 2));
    });
}

struct Shared(UnsafeCell<[u64; 2]>);
// SAFETY: reached only while holding the lock under test.
unsafe impl Sync for Shared {}

/// Two steps each time, so that a second thread inside would be seen.
fn contend<L: RawLock + Default>(waiting: Waiting, before: impl Fn() + Sync) -> ElisionCounts {
    const THREADS: u64 = 4;
    const TIMES: u64 = 20_000;
    let (lock, shared) = (L::default(), Shared(UnsafeCell::new([0; 2])));
    let work = || {
        let (mut waiter, shared) = (LockContext::new(waiting), &shared);
        for _ in 0..TIMES {
            before();
            waiter.with(&lock, || {
                // SAFETY: the lock is held.
                let both = unsafe { &mut *shared.0.get() };
                both[0] += 1;
                std::hint::black_box(&mut *both);
                both[1] += 1;
            });
        }
        waiter.elision()
    };
    let mut total = ElisionCounts::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().for_each(|thread| total.add(&thread.join().unwrap()));
    });
    assert_eq!(shared.0.into_inner(), [THREADS * TIMES; 2]);
    assert_eq!(total.elided + total.fallbacks, THREADS * TIMES);
    total
}

#[test]
fn threads_whose_transactions_all_abort_are_kept_apart_by_the_lock() {
    // SAFETY: `slow` is the waiting of `Lock`.
    let waiting = unsafe { Waiting::modelled::<Lock>(slow, 0, Clock::calibrated()) };
    let counts = contend::<Lock>(waiting, || scripted(&[AbortCode::CAPACITY]));
    assert_eq!((counts.elided, counts.capacity), (0, counts.fallbacks));
}

#[test]
fn real_transactions_keep_threads_apart_or_are_refused_with_their_state() {
    let (state, why) = htm::state();
    match Waiting::elided(Hint::None, 3, Clock::calibrated()) {
        Ok(waiting) => {
            assert_eq!(*state, HtmState::Usable);
            contend::<ElidedLock>(waiting, || ());
        }
        Err(refused) => {
            assert_ne!(*state, HtmState::Usable);
            let message = refused.to_string();
            assert!(message.contains(state.name()) && message.contains(why), "{message}");
        }
    }
}
