//! A worker for a test, and servers that say what they were told to.
#![allow(dead_code)] // Not every test uses everything.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Address, Handle, Listener, Worker};

/// Runs a task and what it starts, 30 seconds at most.
pub fn run<F: Future<Output = ()> + 'static>(task: impl FnOnce(Handle) -> F) {
    let worker = Worker::new(Clock::calibrated()).unwrap();
    let (handle, is_done) = (worker.handle(), Rc::new(Cell::new(false)));
    let (task, mark) = (task(handle.clone()), Rc::clone(&is_done));
    worker.spawn(async move {
        task.await;
        mark.set(true);
    });
    let clock = handle.clock();
    let end = clock.ticks() + clock.ticks_of_ns(30_000_000_000);
    // Servers go on for ever: look often whether the test itself has ended.
    while !is_done.get() && clock.ticks() < end {
        let turn = clock.ticks() + clock.ticks_of_ns(2_000_000);
        worker.run(turn, &AtomicBool::new(false)).unwrap();
    }
    assert!(is_done.get(), "the task did not end");
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
