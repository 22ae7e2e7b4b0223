//! Real servers in private directories, and slow sessions with them.
#![allow(dead_code)] // Each test file uses a part.

pub mod mariadb;
pub mod postgres;
pub mod server;
pub mod slow;
pub mod ycsb_twin;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits, as those of slow sessions.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a slow session blocks, it does not wait"),
    }
}
