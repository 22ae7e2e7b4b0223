//! A worker for a test, and servers that say what they were told to.
#![allow(dead_code)] // Not every test uses everything.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Address, Handle, Listener, Worker, deadline, sleep_until};

/// Runs a task beside what it starts, a minute at most.
pub fn run<F: Future<Output = ()>>(task: impl FnOnce(Handle) -> F) {
    let worker = Worker::new(Clock::calibrated()).unwrap();
    let handle = worker.handle();
    let task = deadline(&handle, after_ms(&handle, 60_000), task(handle.clone()));
    let ended = worker.block_on(task, &AtomicBool::new(false)).unwrap();
    assert_eq!(ended, Some(Ok(())), "the task did not end");
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

/// A listener on a free port, and its address.
pub fn listen(handle: &Handle) -> (Listener, Address) {
    let listener = Listener::bind(handle, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = Address::Tcp(listener.address().unwrap());
    (listener, address)
}

/// A server for one connection: one of `answers` to whatever comes each time; then it closes.
pub fn scripted(handle: &Handle, answers: &[&'static [u8]]) -> Address {
    let (listener, address) = listen(handle);
    let answers = answers.to_vec();
    handle.spawn(async move {
        let mut connection = listener.accept().await.unwrap();
        for answer in answers {
            if connection.more().await.is_err() {
                return;
            }
            connection.consume(connection.input().len());
            connection.send(answer).await.unwrap();
        }
    });
    address
}
