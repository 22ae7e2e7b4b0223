//! Threads that take a lock in turns: what `race_locks` times.
#![allow(dead_code)] // Each uses its own part of this.

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_primitives::locks::Waiting;
use assay_primitives::{Arena, LockContext, LockTable, PageMode, PrimitiveError, RawLock};

/// Pairs between two looks at the stop flag.
const BATCH: usize = 16;

pub fn multiply_add(value: u64, times: u32) -> u64 {
    (0..times).fold(value, |value, _| {
        value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    })
}

/// What a lock guards, on lines of its own.
#[repr(align(128))]
#[derive(Default)]
pub struct Guarded(UnsafeCell<u64>);
// SAFETY: reached only while holding the lock under test.
unsafe impl Sync for Guarded {}

impl Guarded {
    /// What is done inside the lock.
    ///
    /// # Safety
    /// The lock is held.
    #[inline(always)]
    pub unsafe fn work(&self) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = multiply_add(*self.0.get(), 4) };
    }
}

/// Lets threads do pairs for a time: 1e6 pairs a second, and the slowest's share of the fastest's.
pub fn contend<P: FnMut()>(
    threads: usize,
    time: Duration,
    pair: impl Fn() -> P + Sync,
) -> (f64, f64) {
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

pub fn own<L: RawLock>(
    waiting: Waiting,
    threads: usize,
    time: Duration,
) -> Result<(f64, f64), PrimitiveError> {
    let arena = Arena::new(LockTable::<L>::bytes(1, 128), PageMode::Small)?;
    let Some(locks) = LockTable::<L>::new(&arena, 1, 128) else { return Ok((0.0, 0.0)) };
    let guarded = Guarded::default();
    let (lock, guarded) = (locks.lock(0), &guarded);
    Ok(contend(threads, time, || {
        let mut waiter = LockContext::new(waiting);
        move || {
            waiter.with(lock, || {
                // SAFETY: the lock is held.
                unsafe { guarded.work() };
            });
        }
    }))
}
