//! The verb `serve`: stand-ins for SQL servers, as other people's clients see them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::protocol::load::{serve, served};

/// Runs clients against a stand-in.
fn beside(protocol: &str, clients: impl FnOnce(u64)) {
    let server = serve(&json!({"kind": "tpcc", "protocol": protocol, "ports": [0]}));
    clients(server.2);
    assert_eq!(served(server).code, Some(0));
}

fn both(output: &Output) -> String {
    let parts = [&output.stdout[..], &output.stderr];
    parts.map(String::from_utf8_lossy).concat()
}

/// One statement is known, and the other is refused in words that repeat it.
fn assert_answers(ask: impl Fn(&str) -> Output) {
    let one = ask("SELECT 1");
    assert!(one.status.success() && one.stdout == b"1\n", "{}", both(&one));
    let refused = ask("SELECT secret FROM t");
    assert!(!refused.status.success());
    let words = both(&refused);
    assert!(words.contains("stand-in") && words.contains("SELECT secret FROM t"), "{words}");
}

/// Needs Debian's package `mariadb-client`.
#[test]
fn the_client_of_mariadb_is_answered() {
    beside("mysql", |port| {
        assert_answers(|text| {
            let mut client = Command::new("mariadb");
            client.args(["--no-defaults", "-h127.0.0.1", "-uroot", "-psecret", "-N", "-e", text]);
            client.arg(format!("-P{port}")).output().unwrap()
        });
    });
}

/// Needs Debian's package `postgresql`.
#[test]
fn psql_is_answered() {
    let mut versions: Vec<_> = std::fs::read_dir("/usr/lib/postgresql").unwrap().collect();
    let version = versions.pop().unwrap().unwrap().path();
    let psql = Path::new(&version).join("bin/psql");
    beside("postgresql", |port| {
        assert_answers(|text| {
            let mut client = Command::new(&psql);
            client.args(["-X", "-A", "-t", "-h", "127.0.0.1", "-U", "me", "-d", "any", "-c", text]);
            client.arg(format!("--port={port}")).output().unwrap()
        });
    });
}
