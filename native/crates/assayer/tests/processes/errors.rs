//! Wrong requests, missing things: the kind, the exit code, and a message that helps.

use serde_json::{Value, json};

use crate::support::{is_x86, run};

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
        (json!({"parts": {"elision": "maybe"}}), "off, on"),
        (json!({"parts": {"elision": "on", "lock": "mcs"}}), "only ttas"),
        (json!({"parts": {"hint_repeats": 0}}), "from 1 to"),
        (json!({"parts": {"hint": "nop", "hint_repeats": 2, "hint_ns": 9}}), "leave one out"),
        (json!({"parts": {"hint": "none", "hint_ns": 100}}), "choose another hint"),
        (json!({"parts": {"cache_partitions": 3}}), "power of two"),
        (json!({"parts": {"cache_share": 0}}), "from 1 to 100"),
        (json!({"parts": {"data_cache": "lock-free"}}), "optimistic"),
        (json!({"parts": {"data_cache": "optimistic", "cache_share": 50}}), "`hyper-clock`"),
        (json!({"parts": {"cache_share": 1}, "workload": {"records": 1000}}), "1 pages of"),
        (json!({"threads": 200, "parts": {"cc": "no-wait", "index": "latched"}}), "from 1 to 127"),
        (json!({"workload": {"kind": "tpcb"}}), "ycsb, tpcc, trade-desk, aggregate"),
        (json!({"workload": {"kind": "tpcc"}}), "index = latched with cc = no-wait"),
        (
            json!({"parts": {"cc": "optimistic", "index": "hash"}, "workload": {"mix": "e"}}),
            "index = latched; or index = optimistic",
        ),
        (
            json!({"parts": {"cc": "no-wait", "index": "latched", "hash_cache": "on"}}),
            "store = memory",
        ),
        (json!({"workload": {"kind": "aggregate", "rows": 0}}), "workload.rows"),
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
fn parts_of_small_kinds_are_checked() {
    for (parts, workload, mention) in [
        (json!({"call": "jump"}), json!({"kind": "call"}), "inlined, direct, pointer, dyn"),
        (json!({"zstd_level": 0}), json!({"kind": "compress"}), "from 1 to 19"),
        (json!({}), json!({"kind": "compress", "repeated_percent": 101}), "from 0 to 100"),
        (json!({}), json!({"kind": "simd", "buffer_bytes": 0}), "buffer_bytes"),
        (json!({}), json!({"kind": "timer", "colour": 1}), "colour"),
    ] {
        let request = json!({"parts": parts, "workload": workload});
        assert_error("micro", &request, "usage", mention);
    }
}

#[test]
fn data_larger_than_memory_are_refused_before_anything_is_loaded() {
    for store in ["memory", "pages"] {
        let request = json!({
            "parts": {"cc": "no-wait", "index": "latched", "store": store},
            "workload": {"kind": "tpcc", "warehouses": 20000}, "check_only": true,
        });
        assert_error("engine", &request, "missing", "MiB of memory");
    }
}

#[test]
fn a_hint_of_the_other_architecture_is_missing() {
    let hint = if is_x86() { "isb" } else { "pause" };
    let next = assert_error("engine", &json!({"parts": {"hint": hint}}), "missing", hint);
    assert!(next.contains("none"), "{next}");
    let lock = json!({"parts": {"hint": hint}, "workload": {"kind": "lock"}});
    assert_error("micro", &lock, "missing", hint);
}

/// Asked for where transactions commit, it is there; elsewhere the answer names the state that
/// `facts` reports, and why.
#[test]
fn elision_without_transactions_that_commit_is_missing_with_the_state() {
    let facts = run("facts", &json!({}));
    let htm = facts.only("result")["can"]["htm"].clone();
    let parts = json!({"elision": "on"});
    let requests = [
        ("engine", json!({"parts": parts, "workload": {"records": 2000}, "check_only": true})),
        ("micro", json!({"parts": parts, "workload": {"kind": "lock"}, "check_only": true})),
    ];
    for (verb, request) in requests {
        if htm["state"] == "usable" {
            assert_eq!(run(verb, &request).types().last(), Some(&"checked"));
            continue;
        }
        let state = htm["state"].as_str().unwrap();
        let next = assert_error(verb, &request, "missing", state);
        assert_error(verb, &request, "missing", htm["why"].as_str().unwrap());
        assert!(next.contains("elision"), "{next}");
    }
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
