//! A worker for one test.
#![allow(dead_code)] // No test uses all of it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Handle, Worker, sleep_until};

/// Runs a task and everything that it starts, a minute at most.
pub fn run<F: Future<Output = ()> + 'static>(task: impl FnOnce(Handle) -> F) {
    let worker = Worker::new(Clock::calibrated()).unwrap();
    let is_done = Rc::new(Cell::new(false));
    let mark = Rc::clone(&is_done);
    let task = task(worker.handle());
    worker.spawn(async move {
        task.await;
        mark.set(true);
    });
    worker.run(after_ms(&worker.handle(), 60_000), &AtomicBool::new(false)).unwrap();
    assert!(is_done.get(), "the task did not end");
}

/// A time from now, in ticks.
pub fn after_ms(handle: &Handle, ms: u64) -> u64 {
    let clock = handle.clock();
    clock.ticks() + clock.ticks_of_ns(ms * 1_000_000)
}

/// Lets other tasks go on until something is so.
pub async fn until(handle: &Handle, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        sleep_until(handle, after_ms(handle, 1)).await;
    }
}
