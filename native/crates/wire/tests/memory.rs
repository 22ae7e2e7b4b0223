//! Answers larger than the memory that reading them may take. Apart from other tests, and one by one,
//! so that nothing else changes how much memory the process uses.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "support/postgres_server.rs"]
mod postgres_server;
#[path = "support/process.rs"]
mod process;
#[path = "support/redis_server.rs"]
mod redis_server;
#[path = "support/worker.rs"]
mod worker;

use std::sync::Mutex;

use assay_wire::resp::codec::{Kind, command};
use assay_wire::sql::{Row as _, Session as _};
use assay_wire::{postgres, resp};
use postgres_server::Server;
use redis_server::RedisServer;
use worker::run;

/// Held by the test that runs.
static ALONE: Mutex<()> = Mutex::new(());

/// The most memory that this process ever had, in bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_value_of_100_mb_is_passed_over_in_a_few_megabytes() {
    let _alone = ALONE.lock().unwrap();
    run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = resp::Session::open(&handle, &server.target()).await.unwrap();
        let mut batch = Vec::new();
        command(&mut batch, &[b"SETRANGE", b"k", b"99999999", b"x"]);
        session.exchange(&batch, 1, |_| ()).await.unwrap();
        batch.clear();
        command(&mut batch, &[b"GET", b"k"]);
        let (before, received) = (peak_bytes(), session.traffic().received);
        session.exchange(&batch, 1, |kind| assert_eq!(kind, Kind::Value)).await.unwrap();
        assert_eq!(session.traffic().received - received, 100_000_000 + 14);
        let grown = peak_bytes() - before;
        assert!(grown < 4 << 20, "{grown} bytes more than before");
    });
}

#[test]
fn a_hundred_megabytes_of_rows_are_visited_without_being_kept() {
    let _alone = ALONE.lock().unwrap();
    run(|handle| async move {
        let target = Server::shared().unix_target();
        let mut session = postgres::Session::open(&handle, &target).await.unwrap();
        let text = "SELECT g, repeat('x', 10000) FROM generate_series(1, 10000) g";
        let statement = session.prepare(text, &[]).await.unwrap();
        let (before, received) = (peak_bytes(), session.traffic().received);
        let (mut rows, mut bytes) = (0, 0);
        let visit = |row: &postgres::Row<'_>| {
            rows += 1;
            assert_eq!(row.int(0)?, Some(rows));
            bytes += row.text(1)?.unwrap().len();
            Ok(())
        };
        assert_eq!(session.run(statement, &[], visit).await.unwrap().rows, 10_000);
        assert_eq!((rows, bytes), (10_000, 100_000_000));
        assert!(session.traffic().received - received > 100_000_000);
        let grown = peak_bytes() - before;
        assert!(grown < 60_000_000, "{grown} bytes more");
    });
}
