//! A reply larger than the memory that passing over it may take. Alone in its process, so that
//! nothing else changes how much that uses.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "support/redis_server.rs"]
mod redis_server;
#[path = "support/worker.rs"]
mod worker;

use assay_wire::resp::Session;
use assay_wire::resp::codec::{Kind, command};
use redis_server::RedisServer;

/// The most memory that this process ever had, in kB.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_value_of_100_mb_is_passed_over_in_a_few_megabytes() {
    worker::run(|handle| async move {
        let server = RedisServer::start(&[]);
        let mut session = Session::open(&handle, &server.target()).await.unwrap();
        let mut batch = Vec::new();
        command(&mut batch, &[b"SETRANGE", b"k", b"99999999", b"x"]);
        session.exchange(&batch, 1, |_| ()).await.unwrap();
        batch.clear();
        command(&mut batch, &[b"GET", b"k"]);
        let (before, received) = (peak_kb(), session.traffic().received);
        session.exchange(&batch, 1, |kind| assert_eq!(kind, Kind::Value)).await.unwrap();
        assert_eq!(session.traffic().received - received, 100_000_000 + 14);
        let grown = peak_kb() - before;
        assert!(grown < 4096, "{grown} kB more than before");
    });
}
