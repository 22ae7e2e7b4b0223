//! Real servers in private directories, and sessions with them.
#![allow(dead_code)] // Each test file uses a part.

pub mod mariadb;
#[path = "../../../../wire/tests/support/mariadb_server.rs"]
pub mod mariadb_server;
#[path = "../../../../wire/tests/support/memcached_server.rs"]
pub mod memcached_server;
pub mod postgres;
#[path = "../../../../wire/tests/support/postgres_server.rs"]
pub mod postgres_server;
#[path = "../../../../wire/tests/support/process.rs"]
mod process;
#[path = "../../../../wire/tests/support/redis_server.rs"]
pub mod redis_server;
pub mod ycsb_twin;

use std::process::Command;
use std::sync::atomic::AtomicBool;

use assay_primitives::Clock;
use assay_runtime::{Handle, Worker};
use assay_wire::sql::{Row, Session};

thread_local! {
    static WORKER: Worker = Worker::new(Clock::calibrated()).unwrap();
}

/// This thread's worker, where its sessions are opened.
pub fn handle() -> Handle {
    WORKER.with(Worker::handle)
}

/// Runs a future of this thread's sessions to its end.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let never = AtomicBool::new(false);
    WORKER.with(|worker| worker.block_on(future, &never)).unwrap().unwrap()
}

/// What `read` makes of each row that a query returns.
pub fn select<S: Session, T>(
    session: &mut S,
    query: &str,
    read: impl Fn(&S::Row<'_>) -> T,
) -> Vec<T> {
    let mut rows = Vec::new();
    let statement = block_on(session.prepare(query, &[])).unwrap();
    let visit = |row: &S::Row<'_>| {
        rows.push(read(row));
        Ok(())
    };
    block_on(session.run(statement, &[], visit)).unwrap();
    rows
}

/// A column that is a text and not null.
pub fn text(row: &impl Row, column: usize) -> String {
    String::from_utf8(row.text(column).unwrap().unwrap().to_vec()).unwrap()
}

/// Runs a command to its end and returns what it wrote.
pub fn output(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{text}{errors}");
    text
}
