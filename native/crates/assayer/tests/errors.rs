//! Wrong requests, missing things: the kind, the exit code, and a message that helps.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod support;

use serde_json::{Value, json};
use support::run;

fn assert_error(verb: &str, request: &Value, kind: &str, mention: &str) -> String {
    let outcome = run(verb, request);
    let error = outcome.only("error");
    let code = match kind {
        "usage" => 2,
        "missing" => 3,
        _ => 1,
    };
    assert_eq!((error["kind"].as_str(), outcome.code), (Some(kind), Some(code)), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(mention), "{message:?} does not mention {mention:?}");
    assert_eq!(outcome.types().last(), Some(&"error"));
    error["next"].as_str().unwrap().to_owned()
}

#[test]
fn unknown_fields_are_refused_by_name() {
    for request in [
        json!({"colour": 1}),
        json!({"parts": {"colour": 1}}),
        json!({"workload": {"kind": "ycsb", "colour": 1}}),
    ] {
        assert_error("engine", &request, "usage", "colour");
    }
    assert_error("facts", &json!({"colour": 1}), "usage", "colour");
    let lock = json!({"workload": {"kind": "lock", "colour": 1}});
    assert_error("micro", &lock, "usage", "colour");
    assert_error("census", &json!({"path": "/proc/self/exe", "colour": 1}), "usage", "colour");
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
    for (request, mention) in [
        (json!({"parts": {"lock": "spin"}}), "ttas"),
        (json!({"parts": {"padding": 3}}), "0, 64 or 128"),
        (json!({"parts": {"cache_partitions": 3}}), "power of two"),
        (json!({"workload": {"kind": "tpcc"}}), "ycsb"),
        (json!({"workload": {"mix": "g"}}), "a, b, c, d, e, f"),
        (json!({"workload": {"records": 0}}), "workload.records"),
        (json!({"workload": {"theta": 0.5}}), "exact"),
        (json!({"threads": 0}), "threads"),
        (json!({"window_ms": 0}), "window_ms"),
        (json!([1]), "request"),
    ] {
        assert_error("engine", &request, "usage", mention);
    }
    assert_error("micro", &json!({}), "usage", "workload");
    assert_error("census", &json!({"path": "/dev/null"}), "usage", "ELF");
}

#[test]
fn a_hint_of_the_other_architecture_is_missing() {
    let hint = if cfg!(target_arch = "x86_64") { "isb" } else { "pause" };
    let next = assert_error("engine", &json!({"parts": {"hint": hint}}), "missing", hint);
    assert!(next.contains("none"), "{next}");
    let lock = json!({"parts": {"hint": hint}, "workload": {"kind": "lock"}});
    assert_error("micro", &lock, "missing", hint);
}

#[test]
fn a_huge_page_pool_that_is_too_small_is_missing_with_the_command_to_fill_it() {
    let free = std::fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    let free: u64 = free.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    // Records of 1 MiB without touching any: the arena is refused before it is filled.
    let records = 64 + 4 * free;
    let request = json!({
        "parts": {"pages": "hugetlb-2m"}, "threads": 1,
        "workload": {"records": records, "fields": 64, "field_bytes": 16384},
    });
    let next = assert_error("engine", &request, "missing", "hugetlb-2m");
    let (_, pages) = next.split_once("sysctl -w vm.nr_hugepages=").expect("a command");
    assert!(pages.trim().parse::<u64>().unwrap() > free, "{next}");
}

#[test]
fn a_file_that_is_not_there_is_missing() {
    assert_error("census", &json!({"path": "/nonexistent"}), "missing", "/nonexistent");
}

#[test]
fn inserting_beyond_the_expected_operations_says_which_field_to_raise() {
    let request = json!({
        "workload": {"mix": "d", "records": 1000, "operations": 2000}, "warmup_ms": 0,
    });
    let next = assert_error("engine", &request, "usage", "key space");
    assert!(next.contains("workload.operations"), "{next}");
}
