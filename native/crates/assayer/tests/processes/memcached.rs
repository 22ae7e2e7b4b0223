//! A memcached of the test's own, asked and loaded, over TCP and a Unix socket.

use assay_runtime::Address;
use serde_json::{Value, json};

use crate::memcached_server::MemcachedServer;
use crate::support::{Outcome, run};

fn target(server: &MemcachedServer) -> Value {
    match server.target().address {
        Address::Tcp(address) => {
            json!({"protocol": "memcached", "host": "127.0.0.1", "port": address.port()})
        }
        Address::Unix(path) => json!({"protocol": "memcached", "socket": path}),
    }
}

fn load(server: &MemcachedServer, workload: &Value, action: &str) -> Outcome {
    run(
        "load",
        &json!({
            "target": target(server), "workload": workload, "action": action, "connections": 4,
            "threads": 2, "pin": false, "warmup_ms": 20, "window_ms": 200,
        }),
    )
}

fn faults(outcome: &Outcome) -> Vec<&str> {
    let faults = outcome.only("result")["faults"].as_array().unwrap();
    faults.iter().map(|fault| fault.as_str().unwrap()).collect()
}

#[test]
fn a_server_is_asked_in_its_own_commands() {
    for server in
        [MemcachedServer::start(&["-m", "77"]), MemcachedServer::start_unix(&["-m", "77"])]
    {
        let asks = ["stats settings", "set k 5 0 3\nabc", "get k", "incr n 1", "version"];
        let outcome = run("ask", &json!({"target": target(&server), "asks": asks}));
        let answers = outcome.only("answers")["answers"].as_array().unwrap().clone();
        let settings = answers[0].as_array().unwrap();
        assert!(settings.contains(&json!(["maxbytes", (77 << 20).to_string()])), "{settings:?}");
        assert_eq!(
            answers[1..4],
            [json!([["STORED"]]), json!([["k", "5", "abc"]]), json!([["NOT_FOUND"]])]
        );
        assert!(answers[4][0][0].as_str().unwrap().starts_with("1."));
    }
}

#[test]
fn a_question_that_cannot_be_answered_is_said_to_be_wrong_or_refused() {
    let server = MemcachedServer::start(&[]);
    for (ask, kind, mention) in [
        ("quit", "usage", "not a command of memcached"),
        ("stats nonsense", "failed", "the server says ERROR"),
    ] {
        let outcome = run("ask", &json!({"target": target(&server), "asks": [ask]}));
        let error = outcome.only("error");
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["message"].as_str().unwrap().contains(mention), "{error}");
    }
}

#[test]
fn mixes_of_ycsb_run_on_records_that_were_made_and_are_taken_away_again() {
    for server in [MemcachedServer::start(&[]), MemcachedServer::start_unix(&[])] {
        let ycsb = |mix: &str| json!({"kind": "ycsb", "mix": mix, "records": 1000});
        assert_eq!(faults(&load(&server, &ycsb("a"), "prepare")), [""; 0]);
        for mix in ["a", "d", "f"] {
            let outcome = load(&server, &ycsb(mix), "run");
            let result = outcome.only("result");
            assert_eq!((&result["complete"], &result["errors"]), (&json!(true), &json!(0)));
            assert!(result["operations"].as_u64().unwrap() > 0, "{mix}");
        }
        assert_eq!(faults(&load(&server, &ycsb("c"), "check")), [""; 0]);
        load(&server, &ycsb("c"), "clean");
        let checked = load(&server, &ycsb("c"), "check");
        assert!(faults(&checked)[0].contains("1000 of 1000 keys"), "{checked:?}");
        let outcome = load(&server, &ycsb("c"), "run");
        let result = outcome.only("result");
        let (error, operations) = (&result["load"]["errors"][0], &result["operations"]);
        assert_eq!((&error["code"], &error["count"]), (&json!("missing"), operations));
        assert!(error["message"].as_str().unwrap().contains("there is no record user"));
    }
}

#[test]
fn single_commands_run_on_keys_that_were_made() {
    let server = MemcachedServer::start(&[]);
    for (kind, pipeline) in [("memcached-get", 1), ("memcached-set", 16)] {
        let workload =
            json!({"kind": kind, "keys": 3000, "value_bytes": 500, "pipeline": pipeline});
        let prepared = load(&server, &workload, "prepare");
        assert_eq!((faults(&prepared), &prepared.only("result")["rows"]), (vec![], &json!(3000)));
        let outcome = load(&server, &workload, "run");
        let result = outcome.only("result");
        assert_eq!(result["errors"], 0);
        assert!(result["operations"].as_u64().unwrap() >= pipeline);
    }
}

#[test]
fn what_memcached_cannot_do_is_refused() {
    let server = MemcachedServer::start(&[]);
    let with = |field: &str, value: &str| {
        let mut target = target(&server);
        target[field] = value.into();
        target
    };
    let ycsb = |mix: &str| json!({"kind": "ycsb", "mix": mix});
    for (target, workload, kind, mention) in [
        (target(&server), ycsb("e"), "usage", "scans need an order of keys"),
        (target(&server), json!({"kind": "redis-get"}), "usage", "cannot be asked of"),
        (target(&server), json!({"kind": "tpcc"}), "usage", "cannot be asked of"),
        (
            with("protocol", "redis"),
            json!({"kind": "memcached-get"}),
            "usage",
            "cannot be asked of",
        ),
        (with("sslmode", "require"), ycsb("c"), "usage", "no TLS"),
        (with("database", "1"), ycsb("c"), "missing", "no databases"),
    ] {
        let outcome = run("load", &json!({"target": target, "workload": workload, "threads": 1}));
        let error = outcome.only("error");
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["message"].as_str().unwrap().contains(mention), "{error}");
    }
}

/// Whoever loads more than fits hears of it at once, and a value that is too large is an error.
#[test]
fn a_server_without_room_is_found_out() {
    let server = MemcachedServer::start(&["-m", "2"]);
    let workload = json!({"kind": "memcached-get", "keys": 20_000, "value_bytes": 1000});
    let prepared = load(&server, &workload, "prepare");
    assert!(faults(&prepared)[0].contains("of 20000 keys are not there"), "{prepared:?}");
    let workload = json!({"kind": "memcached-set", "keys": 1, "value_bytes": 2_000_000});
    let outcome = load(&server, &workload, "run");
    let error = &outcome.only("result")["load"]["errors"][0];
    assert_eq!(error["code"], "SERVER_ERROR", "{error}");
    assert!(error["message"].as_str().unwrap().contains("too large"), "{error}");
}
