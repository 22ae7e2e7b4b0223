//! Times every lock kind and parking_lot's mutex between threads, in turns.
//!
//! `race_locks ROUNDS MILLISECONDS THREADS...` writes lines as `race_crc32c` does; the case is the
//! number of threads, the value 1e6 pairs of taking and releasing a second. A second line for each
//! turn, named `NAME fairness`, has the slowest thread's share of the fastest's. One pair holds the
//! lock for four multiply-adds and does twenty between.

mod common;

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_primitives::locks::{FutexLock, McsLock, TicketLock, Waiting, WordLock};
use assay_primitives::{
    Arena, Clock, Hint, LockKind, LockTable, PageMode, PrimitiveError, RawLock, Waiter,
};

/// Pairs between two looks at the stop flag.
const BATCH: usize = 16;

fn multiply_add(value: u64, times: u32) -> u64 {
    (0..times).fold(value, |value, _| {
        value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    })
}

/// What a lock guards, on lines of its own.
#[repr(align(128))]
struct Guarded(UnsafeCell<u64>);
// SAFETY: reached only while holding the lock under test.
unsafe impl Sync for Guarded {}

/// Lets threads do pairs for a time: 1e6 pairs a second, and the slowest's share of the fastest's.
fn contend<P: FnMut()>(threads: usize, time: Duration, pair: impl Fn() -> P + Sync) -> (f64, f64) {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let work = || {
        let mut pair = pair();
        let (mut outside, mut pairs) = (0, 0u64);
        start.wait();
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..BATCH {
                pair();
                outside = std::hint::black_box(multiply_add(outside, 20));
            }
            pairs += BATCH as u64;
        }
        pairs
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        start.wait();
        let begin = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let done: Vec<u64> = workers.into_iter().map(|worker| worker.join().unwrap_or(0)).collect();
        let (least, most) = (done.iter().min(), done.iter().max());
        let share = *least.unwrap_or(&0) as f64 / (*most.unwrap_or(&1)).max(1) as f64;
        (done.iter().sum::<u64>() as f64 / begin.elapsed().as_secs_f64() / 1e6, share)
    })
}

fn own<L: RawLock>(
    waiting: Waiting,
    threads: usize,
    time: Duration,
) -> Result<(f64, f64), PrimitiveError> {
    let arena = Arena::new(LockTable::<L>::bytes(1, 128), PageMode::Small)?;
    let Some(locks) = LockTable::<L>::new(&arena, 1, 128) else { return Ok((0.0, 0.0)) };
    let guarded = Guarded(UnsafeCell::new(0));
    let (lock, guarded) = (locks.lock(0), &guarded);
    Ok(contend(threads, time, || {
        let mut waiter = Waiter::new(waiting);
        move || {
            waiter.with(lock, || {
                // SAFETY: the lock is held.
                unsafe { *guarded.0.get() = multiply_add(*guarded.0.get(), 4) };
            });
        }
    }))
}

fn parking_lot(threads: usize, time: Duration) -> (f64, f64) {
    let lock = parking_lot::Mutex::new(0);
    contend(threads, time, || {
        || {
            let mut inside = lock.lock();
            *inside = multiply_add(*inside, 4);
        }
    })
}

fn of_kind(
    kind: LockKind,
    hint: Hint,
    threads: usize,
    time: Duration,
) -> Result<(f64, f64), PrimitiveError> {
    let waiting = Waiting::new(kind, hint, 2048, Clock::calibrated())?;
    match kind {
        LockKind::Ticket => own::<TicketLock>(waiting, threads, time),
        LockKind::Mcs => own::<McsLock>(waiting, threads, time),
        LockKind::Futex => own::<FutexLock>(waiting, threads, time),
        LockKind::Tas | LockKind::Ttas | LockKind::Backoff => {
            own::<WordLock>(waiting, threads, time)
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rounds, time, threads) = common::arguments()?;
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Isb };
    for threads in threads {
        let case = threads.to_string();
        for round in 0..rounds {
            // The last place is parking_lot's.
            for turn in 0..=LockKind::ALL.len() {
                let (name, (value, share)) =
                    match LockKind::ALL.get((turn + round) % (LockKind::ALL.len() + 1)) {
                        Some(kind) => (kind.name(), of_kind(*kind, hint, threads, time)?),
                        None => ("parking_lot", parking_lot(threads, time)),
                    };
                common::write(&case, round, name, value)?;
                common::write(&case, round, &format!("{name} fairness"), share)?;
            }
        }
    }
    Ok(())
}
