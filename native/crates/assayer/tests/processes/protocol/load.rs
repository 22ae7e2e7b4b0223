//! A load, and the servers it is put on.

use std::io::Read as _;
use std::process::{Child, Command};

use serde_json::{Value, json};

use crate::protocol::holds;
use crate::support::{Outcome, finish, run, start};

/// A server of our own; its port. It is to be told to end.
pub fn serve(request: &Value) -> (Child, Vec<u8>, u64) {
    let mut child = start("serve", request);
    let mut line = Vec::new();
    // Byte by byte: what follows the line is for who reads the rest.
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let serving: Value = serde_json::from_slice(&line).unwrap();
    (child, line, serving["data"]["ports"][0].as_u64().unwrap())
}

/// What a server has said from its start to its end.
pub fn served((child, first, _): (Child, Vec<u8>, u64)) -> Outcome {
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let mut outcome = finish(child);
    outcome.messages.insert(0, serde_json::from_slice(&first).unwrap());
    outcome.text.insert_str(0, str::from_utf8(&first).unwrap());
    outcome
}

/// A file, and a proxy whose only upstream nobody is: 502 to every request.
#[test]
fn a_load_and_the_servers_it_is_put_on_say_what_the_specification_says() {
    let files = serve(&json!({"kind": "http-file", "ports": [0], "bytes": 10}));
    let proxy = serve(&json!({"kind": "http-proxy", "ports": [0], "upstreams": ["127.0.0.1:1"]}));
    for (name, port, rate) in [
        ("load", files.2, json!({"per_s": 200.0, "spacing": "poisson"})),
        ("load-errors", proxy.2, Value::Null),
    ] {
        let request = json!({
            "target": {"protocol": "http", "host": "127.0.0.1", "port": port},
            "workload": {"kind": "http-get"}, "connections": 2, "rate": rate,
            "warmup_ms": 20, "window_ms": 100, "interval_ms": 60, "threads": 2,
        });
        // On a busy machine so short a window may pass without an answer.
        let mut runs = (0..100).map(|_| run("load", &request));
        let outcome = runs.find(|outcome| outcome.only("result")["operations"] != 0).unwrap();
        let result = outcome.only("result");
        let errors = &result["load"]["errors"];
        if name == "load" {
            assert_eq!((&result["errors"], errors), (&json!(0), &json!([])));
        } else {
            assert_eq!(result["errors"], result["operations"]);
            assert_eq!((&errors[0]["code"], &errors[0]["kind"]), (&json!("502"), &json!("other")));
            assert_eq!((&errors[0]["message"], &errors[1]), (&json!("Bad Gateway"), &Value::Null));
            assert_eq!(errors[0]["count"], result["errors"]);
        }
        holds(name, outcome);
    }
    holds("serve", served(files));
    assert_eq!(served(proxy).code, Some(0));
}
