//! Every lock kind with every hint of this CPU keeps threads apart, also with more threads than
//! CPUs; and a table lays locks out with the stride asked for.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_primitives::locks::{FutexLock, McsLock, TicketLock, Waiting, WordLock};
use assay_primitives::{
    AnyLockContext, Arena, Clock, Contention, Hint, LockContext, LockKind, LockTable, PageMode,
    RawLock,
};

const THREADS: usize = 4;
const PADDINGS: [(usize, usize); 3] = [(0, 8), (64, 64), (128, 128)];
/// Fair locks need a context switch per hand-over here, so the time is bounded, not the count.
const TIME: Duration = Duration::from_millis(60);

struct Shared(UnsafeCell<[u64; 2]>);
// SAFETY: reached only while holding the lock under test.
unsafe impl Sync for Shared {}

fn contend<L: RawLock>(kind: LockKind, hint: Hint) {
    let clock = Clock::calibrated();
    let waiting = Waiting::new(kind, hint, 64, clock).unwrap();
    let arena = Arena::new(4096, PageMode::Small).unwrap();
    let locks = LockTable::<L>::new(&arena, 2, 64).unwrap();
    let (shared, stop) = (Shared(UnsafeCell::new([0; 2])), AtomicBool::new(false));
    let count = || {
        let mut waiter = LockContext::new(waiting);
        while !stop.load(Ordering::Relaxed) {
            let shared = &shared;
            waiter.with(locks.lock(1), || {
                // SAFETY: the lock is held.
                let both = unsafe { &mut *shared.0.get() };
                // Two steps, so that a second thread inside would be seen.
                both[0] += 1;
                std::hint::black_box(&mut *both);
                both[1] += 1;
            });
        }
        waiter.counts()
    };
    let counts: Vec<Contention> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        std::thread::sleep(TIME);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let grabs: u64 = counts.iter().map(|counts| counts.grabs).sum();
    assert!(grabs > 0);
    assert_eq!(shared.0.into_inner(), [grabs; 2], "{kind:?} with {hint:?}");
    for counts in counts {
        assert!(counts.waits <= counts.grabs, "{kind:?} with {hint:?}: {counts:?}");
        assert!(counts.spins == 0 || counts.waits > 0, "{kind:?} with {hint:?}: {counts:?}");
    }
}

#[test]
fn no_two_threads_are_ever_inside() {
    for hint in Hint::available() {
        for kind in [LockKind::Tas, LockKind::Ttas, LockKind::Backoff] {
            contend::<WordLock>(kind, *hint);
        }
        contend::<TicketLock>(LockKind::Ticket, *hint);
        contend::<McsLock>(LockKind::Mcs, *hint);
        contend::<FutexLock>(LockKind::Futex, *hint);
    }
}

#[test]
fn a_table_has_the_stride_asked_for() {
    let arena = Arena::new(1 << 16, PageMode::Small).unwrap();
    for (padding, stride) in PADDINGS {
        let table = LockTable::<WordLock>::new(&arena, 16, padding).unwrap();
        assert_eq!(table.measured_stride_bytes(), stride, "padding {padding}");
        assert_eq!(std::ptr::from_ref(table.lock(0)).addr() % 128, 0);
    }
}

#[test]
fn an_uncontended_lock_never_waits() {
    let waiting = Waiting::new(LockKind::Mcs, Hint::None, 1, Clock::calibrated()).unwrap();
    let arena = Arena::new(4096, PageMode::Small).unwrap();
    let table = LockTable::<McsLock>::new(&arena, 1, 0).unwrap();
    let mut waiter = LockContext::new(waiting);
    for _ in 0..1000 {
        waiter.with(table.lock(0), || {});
    }
    assert_eq!(waiter.counts(), Contention { grabs: 1000, ..Contention::default() });
}

#[test]
fn a_hint_of_another_architecture_is_missing() {
    let foreign = Hint::ALL.into_iter().find(|hint| !Hint::available().contains(hint)).unwrap();
    let refused = Waiting::new(LockKind::Ttas, foreign, 1, Clock::calibrated()).unwrap_err();
    assert!(refused.to_string().contains(foreign.name()), "{refused}");
}

fn waiting(kind: LockKind) -> Waiting {
    Waiting::new(kind, Hint::None, 1, Clock::calibrated()).unwrap()
}

#[test]
#[should_panic(expected = "locks of another type")]
fn a_context_refuses_a_waiting_for_locks_of_another_type() {
    LockContext::<McsLock>::new(waiting(LockKind::Ttas));
}

#[test]
#[should_panic(expected = "locks of another type")]
fn a_context_whose_type_was_chosen_at_run_time_does_not_wait_for_another() {
    let lock = TicketLock::default();
    let mut wrong = AnyLockContext::new(waiting(LockKind::Ttas));
    LockContext::new(waiting(LockKind::Ticket)).with(&lock, || wrong.of().with(&lock, || {}));
}

#[test]
fn a_table_keeps_the_arena_that_its_locks_lie_in() {
    let arena = Arena::new(4096, PageMode::Small).unwrap();
    let table = LockTable::new(&arena, 4, 64).unwrap();
    drop(arena);
    let mut locks = LockContext::<WordLock>::new(waiting(LockKind::Ttas));
    for index in 0..table.count() {
        locks.with(table.lock(index), || {});
    }
    assert_eq!(locks.counts().grabs, 4);
}

#[test]
#[should_panic(expected = "lock 4 of 4")]
fn a_lock_that_a_table_has_not_is_refused() {
    let arena = Arena::new(4096, PageMode::Small).unwrap();
    LockTable::<WordLock>::new(&arena, 4, 64).unwrap().lock(4);
}
