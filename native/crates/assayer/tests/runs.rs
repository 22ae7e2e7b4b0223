//! Whole runs, short: the state is sound afterwards, and the manifest says what was really chosen.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod support;

use assay_primitives::Crc32cLevel;
use serde_json::{Value, json};
use support::run;

const KINDS: [&str; 6] = ["tas", "ttas", "backoff", "ticket", "mcs", "futex"];

fn measured(verb: &str, request: &Value) -> (Value, Value) {
    let outcome = run(verb, request);
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.messages);
    let result = outcome.only("result").clone();
    assert_eq!(result["complete"], true);
    assert_eq!(result["errors"], 0, "{request}");
    assert_eq!(result["state"]["checksum_ok"], true, "{request}");
    (outcome.only("ready")["manifest"].clone(), result)
}

fn short(request: Value) -> Value {
    let mut request = request;
    let fields = request.as_object_mut().unwrap();
    fields.insert("warmup_ms".into(), 10.into());
    fields.insert("window_ms".into(), 40.into());
    request
}

#[test]
fn every_data_cache_with_every_lock_leaves_the_records_whole() {
    for data_cache in ["one-lock", "partitioned", "lock-free"] {
        for lock in KINDS {
            let request = short(json!({
                "parts": {"data_cache": data_cache, "lock": lock},
                "workload": {"mix": "a", "records": 1000},
            }));
            let (manifest, _) = measured("engine", &request);
            assert_eq!(
                (&manifest["lock"], &manifest["data_cache"]),
                (&lock.into(), &data_cache.into())
            );
        }
    }
}

#[test]
fn every_mix_runs_and_inserts_are_kept() {
    for mix in ["a", "b", "c", "d", "e", "f"] {
        let workload = json!({"mix": mix, "records": 2000, "operations": 40_000_000});
        let (_, result) = measured("engine", &short(json!({"workload": workload})));
        let records = result["state"]["records"].as_u64().unwrap();
        let inserted =
            result["by_kind"].get("insert").map_or(0, |kind| kind["operations"].as_u64().unwrap());
        assert_eq!(records > 2000, ["d", "e"].contains(&mix));
        assert!(records >= 2000 + inserted);
    }
}

#[test]
fn every_lock_kind_adds_up() {
    for lock in KINDS {
        for locks in ["one", "each"] {
            let request = short(json!({
                "parts": {"lock": lock}, "workload": {"kind": "lock", "locks": locks}, "threads": 3,
            }));
            let (_, result) = measured("micro", &request);
            assert_eq!(result["latency_of"], "batches of 64");
        }
    }
}

#[test]
fn padding_is_measured_from_addresses() {
    for (padding, stride) in [(0, 8), (64, 64), (128, 128)] {
        let parts = json!({"padding": padding, "data_cache": "partitioned"});
        let workload = json!({"records": 1000});
        let (manifest, _) =
            measured("engine", &short(json!({"parts": parts, "workload": workload})));
        assert_eq!(manifest["lock_stride_bytes"], stride);
        let request = json!({"parts": {"padding": padding}, "workload": {"kind": "lock"}});
        let (manifest, _) = measured("micro", &short(request));
        assert_eq!(manifest["lock_stride_bytes"], stride);
    }
}

#[test]
fn every_checksum_level_of_this_cpu_is_right_and_named() {
    let (arch, foreign) = if cfg!(target_arch = "x86_64") {
        (["hardware", "hardware-3way", "pclmul", "vpclmul", "fusion"].as_slice(), "pmull")
    } else {
        (["hardware", "hardware-3way", "pmull"].as_slice(), "vpclmul")
    };
    for level in ["bytewise", "slicing8"].iter().chain(arch) {
        let request = short(json!({"parts": {"crc32c": level}, "workload": {"kind": "crc32c"}}));
        let outcome = run("micro", &request);
        if outcome.types().contains(&"error") {
            assert_eq!(outcome.only("error")["kind"], "missing", "{level}");
            continue;
        }
        assert_eq!(outcome.only("ready")["manifest"]["crc32c"], **level);
        assert_eq!(outcome.only("result")["ran"][0]["role"], "crc32c");
        assert_eq!(outcome.only("result")["state"]["checksum_ok"], true, "{level}");
    }
    let request = short(json!({"parts": {"crc32c": foreign}, "workload": {"kind": "crc32c"}}));
    assert_eq!(run("micro", &request).only("error")["kind"], "missing");
}

#[test]
fn a_dispatch_is_reported_as_the_level_it_ended_at() {
    let used = |choice: &str, bytes: usize| {
        let parts = json!({"crc32c": choice});
        let workload = json!({"kind": "crc32c", "buffer_bytes": bytes});
        let (manifest, _) =
            measured("micro", &short(json!({"parts": parts, "workload": workload})));
        manifest["crc32c"].as_str().unwrap().to_owned()
    };
    assert_eq!(used("misdispatched", 4096), "bytewise");
    assert_ne!(used("auto", 4096), "bytewise");
    assert_eq!(used("auto", 16), Crc32cLevel::best(16).name());
}

/// Counts, not times: contention counters see every operation, the histogram only the counted ones.
#[test]
fn repeated_operations_are_carried_out_but_not_counted() {
    for (every, ratio) in [(0, 1.0), (1, 2.0), (4, 1.25)] {
        let request = json!({
            "parts": {"repeat_every": every}, "workload": {"records": 1000}, "threads": 1,
            "warmup_ms": 10, "window_ms": 100,
        });
        let (_, result) = measured("engine", &request);
        let lookups = result["lookups"]["data_cache"].as_f64().unwrap();
        let seen = lookups / result["operations"].as_f64().unwrap();
        assert!((seen / ratio - 1.0).abs() < 0.02, "every {every}: {seen}");
    }
}

#[test]
fn every_plan_answers_alike_and_the_compiled_ones_show_their_code() {
    for plan in ["row", "bytecode", "vectorised", "cranelift-scalar", "cranelift-simd"] {
        for rewrite in ["off", "on"] {
            let request = short(json!({
                "parts": {"plan": plan, "rewrite": rewrite},
                "workload": {"kind": "aggregate", "rows": 1001},
            }));
            let (manifest, result) = measured("engine", &request);
            assert_eq!((&manifest["plan"], &manifest["rewrite"]), (&plan.into(), &rewrite.into()));
            let made = &result["ran"][0]["made"];
            assert_eq!(made.is_object(), plan.starts_with("cranelift"), "{made}");
        }
    }
}
