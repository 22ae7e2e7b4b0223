//! The table of page views: as a file, and as a load that is refused or gets no answer.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;
use std::time::Duration;

use assay_workload::hits::{Parameters, Plan};
use serde_json::{Value, json};

use crate::support::{finish, run, start};

const ROWS: u64 = 10_000;

/// A server of PostgreSQL's protocol that lets everybody in and answers nothing.
fn silent_server() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut connection, _)) = listener.accept() {
            thread::spawn(move || {
                let _ = connection.read(&mut [0; 1024]);
                let _ = connection.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
                // Until the client goes.
                while connection.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {}
            });
        }
    });
    port
}

fn load(port: u16, workload: Value) -> Value {
    json!({
        "target": {"protocol": "postgresql", "host": "127.0.0.1", "port": port, "user": "a"},
        "workload": workload, "threads": 1, "pin": false, "warmup_ms": 10, "window_ms": 50,
    })
}

#[test]
fn a_window_in_which_no_query_ends_is_an_error_that_says_so() {
    let port = silent_server();
    for kind in ["hits", "aggregate", "hits-upload"] {
        let outcome = run("load", &load(port, json!({"kind": kind, "rows": ROWS})));
        let error = outcome.only("error");
        assert_eq!((&error["kind"], outcome.code), (&json!("usage"), Some(2)));
        assert!(error["message"].as_str().unwrap().contains("nothing ended in the window"));
        assert!(error["next"].as_str().unwrap().contains("longer window_ms"));
        assert!(!outcome.types().contains(&"result"));
    }
}

#[test]
fn a_request_that_cannot_be_is_refused_with_what_is_allowed() {
    for (workload, kind, mention) in [
        (json!({"kind": "hits", "rows": 9_999}), "usage", "from 10,000 to 1,000,000,000"),
        (json!({"kind": "hits", "rows": ROWS, "query": "q99"}), "usage", "all, or q01 to q40"),
        (json!({"kind": "hits", "colour": 1}), "usage", "colour"),
        (json!({"kind": "aggregate", "rows": ROWS, "sums": 0}), "usage", "from 1 to 1600"),
        (json!({"kind": "hits-upload", "rows_per_batch": 7}), "usage", "no multiple"),
        (
            json!({"kind": "hits", "checkout": {"create": "/n/c", "queries": "/n/q", "data": "/n/d"}}),
            "missing",
            "/n/d: No such file",
        ),
    ] {
        let outcome = run("load", &load(1, workload));
        let error = outcome.only("error");
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["message"].as_str().unwrap().contains(mention), "{error}");
    }
}

#[test]
fn the_file_has_every_row_as_a_line_and_the_result_says_how_long_it_is() {
    let path = std::env::temp_dir().join(format!("assay-hits-{}.tsv", std::process::id()));
    let outcome = run("hits", &json!({"rows": ROWS, "seed": 5, "to": path}));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let result = outcome.only("result");
    assert_eq!(result["complete"], true);
    assert_eq!(result["bytes"], text.len());
    let plan = Plan::new(Parameters { rows: ROWS, seed: 5 }).unwrap();
    let (mut scratch, mut expected) = (String::new(), Vec::new());
    (0..ROWS).for_each(|row| plan.row(row).write_tsv(&mut scratch, &mut expected));
    assert!(text.as_bytes() == expected);
    assert!(result["create"].as_str().unwrap().starts_with("CREATE TABLE hits ("));
    assert_eq!(result["queries"].as_object().unwrap().len(), 40);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let outcome = run("hits", &json!({"rows": ROWS, "to": "/proc/nowhere/hits.tsv"}));
    let error = outcome.only("error");
    assert_eq!((&error["kind"], outcome.code), (&json!("missing"), Some(3)));
    assert!(error["message"].as_str().unwrap().starts_with("/proc/nowhere/hits.tsv: "));
    let outcome = run("hits", &json!({"rows": ROWS, "to": "/dev/full"}));
    let error = outcome.only("error");
    assert!(error["message"].as_str().unwrap().starts_with("/dev/full: No space left"));
    assert!(std::path::Path::new("/dev/full").exists());
}

#[test]
fn a_file_that_is_not_whole_is_removed() {
    let path = std::env::temp_dir().join(format!("assay-cut-{}.tsv", std::process::id()));
    let child = start("hits", &json!({"rows": 1_000_000_000, "to": path}));
    while !path.exists() {
        thread::sleep(Duration::from_millis(1));
    }
    let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(told.unwrap().success());
    let outcome = finish(child);
    assert_eq!((&outcome.only("result")["complete"], outcome.code), (&json!(false), Some(0)));
    assert!(!path.exists());
}
