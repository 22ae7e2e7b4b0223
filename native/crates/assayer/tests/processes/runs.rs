//! Whole runs, short: the state is sound afterwards, and the manifest says what was really chosen.

use assay_primitives::Crc32cLevel;
use serde_json::{Value, json};

use crate::support::{Outcome, is_x86, run};

const KINDS: [&str; 6] = ["tas", "ttas", "backoff", "ticket", "mcs", "futex"];

fn measured(verb: &str, request: &Value) -> (Value, Value) {
    sound(&run(verb, request), request)
}

fn sound(outcome: &Outcome, request: &Value) -> (Value, Value) {
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.messages);
    let result = outcome.only("result").clone();
    assert_eq!(result["complete"], true);
    assert_eq!(result["errors"], 0, "{request}");
    assert_eq!(result["state"]["checksum_ok"], true, "{request}");
    (outcome.only("ready")["manifest"].clone(), result)
}

/// Runs with longer and longer windows until so many operations are counted, or there is an error:
/// on a busy machine a short window may pass without any.
pub fn run_enough(verb: &str, request: &Value, operations: u64) -> Outcome {
    for window_ms in [40, 160, 640, 2560, 10_240, 40_960] {
        let mut request = request.clone();
        request["window_ms"] = window_ms.into();
        let outcome = run(verb, &request);
        let result = outcome.messages.iter().find(|message| message["type"] == "result");
        let counted = result.map(|result| result["data"]["operations"].as_u64().unwrap());
        if counted.is_none_or(|counted| counted >= operations) {
            return outcome;
        }
    }
    panic!("fewer than {operations} operations in 40 s: {request}");
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
    for data_cache in ["one-lock", "partitioned", "hyper-clock", "optimistic"] {
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
fn a_small_data_cache_misses_evicts_writes_back_and_leaves_the_records_whole() {
    for data_cache in ["one-lock", "partitioned", "hyper-clock"] {
        let request = |share: u64| {
            let parts = json!({"data_cache": data_cache, "cache_share": share});
            json!({"parts": parts, "workload": {"mix": "a", "records": 6000}, "warmup_ms": 10})
        };
        let engine = |share| sound(&run_enough("engine", &request(share), 2000), &request(share));
        let (manifest, all) = engine(100);
        assert_eq!(manifest["cache_share"], 100);
        let number = |result: &Value, name: &str| {
            result["counters"][format!("data_cache.{name}")].as_u64().unwrap()
        };
        assert_eq!(number(&all, "hits"), all["lookups"]["data_cache"].as_u64().unwrap());
        for name in ["misses", "evictions", "write_backs"] {
            assert_eq!(number(&all, name), 0, "{name}");
        }
        let (manifest, tenth) = engine(10);
        // Fifteen records of a kilobyte fit a page.
        assert_eq!((&manifest["cache_share"], &manifest["cache_pages"]), (&10.into(), &40.into()));
        for name in ["hits", "misses", "evictions", "write_backs"] {
            assert!(number(&tenth, name) > 0, "{name} with {data_cache}");
        }
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
            let together = result["latency_of"].as_str().unwrap().strip_prefix("batches of ");
            assert!(together.unwrap().parse::<u64>().unwrap() >= 512, "{result}");
        }
    }
}

const SPINNING: [(&str, &str); 2] =
    [("micro", r#"{"kind": "lock"}"#), ("engine", r#"{"records": 1000}"#)];

/// The manifest of a short run with `parts`.
fn manifest_of(verb: &str, workload: &str, parts: &Value) -> Value {
    let workload: Value = serde_json::from_str(workload).unwrap();
    measured(verb, &short(json!({"parts": parts, "workload": workload}))).0
}

#[test]
fn a_wait_in_repeats_is_used_and_reported_as_it_was_asked() {
    for (verb, workload) in SPINNING {
        let raw = manifest_of(verb, workload, &json!({"hint": "nop", "hint_repeats": 200}));
        assert_eq!((&raw["hint_repeats"], &raw["hint_ns"]), (&200.into(), &0.into()));
    }
}

/// What an emulator does not show, where a hint may take no time: `scripts/test-aarch64` skips it.
mod unemulated {
    use super::*;

    #[test]
    fn measuring_takes_less_than_a_hundredth_of_any_primitive() {
        for workload in [
            r#"{"kind": "lock", "hold": 0, "gap": 0}"#,
            r#"{"kind": "crc32c", "buffer_bytes": 4096}"#,
            r#"{"kind": "crc32c", "buffer_bytes": 1}"#,
            r#"{"kind": "atomic", "words": "each"}"#,
            r#"{"kind": "order", "access": "load"}"#,
            r#"{"kind": "counters"}"#,
            r#"{"kind": "call"}"#,
            r#"{"kind": "chase", "bytes": 4096}"#,
            r#"{"kind": "unaligned"}"#,
            r#"{"kind": "timer"}"#,
            r#"{"kind": "hash", "buffer_bytes": 256}"#,
            r#"{"kind": "compress", "buffer_bytes": 1024}"#,
            r#"{"kind": "simd", "buffer_bytes": 256}"#,
        ] {
            let workload: Value = serde_json::from_str(workload).unwrap();
            let request = short(json!({"workload": workload, "parts": {"compression": "copy"}}));
            let outcome = run_enough("micro", &request, 1 << 20);
            let (_, result) = sound(&outcome, &request);
            let number = |name: &str| result[name].as_f64().unwrap();
            let operation_ns = number("window_s") * 1e9 / number("operations");
            let overhead_ns = number("overhead_ns_per_operation");
            assert!(overhead_ns > 0.0, "{workload}");
            assert!(overhead_ns < operation_ns / 100.0, "{workload}: {overhead_ns} {operation_ns}");
        }
    }

    #[test]
    fn an_engine_says_what_the_timing_of_each_operation_costs() {
        for workload in [r#"{"records": 1000}"#, r#"{"kind": "aggregate", "rows": 1000}"#] {
            let workload: Value = serde_json::from_str(workload).unwrap();
            let (_, result) = measured("engine", &short(json!({"workload": workload})));
            let overhead_ns = result["overhead_ns_per_operation"].as_f64().unwrap();
            assert!(overhead_ns > 1.0 && overhead_ns < 10_000.0, "{overhead_ns}");
        }
    }

    #[test]
    fn a_wait_in_nanoseconds_becomes_a_count_that_is_reported() {
        let pause = if is_x86() { "pause" } else { "isb" };
        for (verb, workload) in SPINNING {
            let parts = json!({"hint": pause, "hint_ns": 5000});
            let calibrated = manifest_of(verb, workload, &parts);
            assert_eq!(calibrated["hint_ns"], 5000);
            let one_ns = calibrated["hint_ns_measured"].as_f64().unwrap();
            let repeats = calibrated["hint_repeats"].as_f64().unwrap();
            assert!(one_ns > 0.0);
            assert!((repeats * one_ns - 5000.0).abs() <= one_ns, "{repeats} of {one_ns} ns");
        }
    }
}

#[test]
fn no_atomic_operation_is_lost_and_a_missing_flavour_is_said() {
    for atomics in ["std", "ll-sc", "lse"] {
        for operation in ["add", "cas", "lock"] {
            for words in ["one", "each"] {
                let request = short(json!({
                    "parts": {"atomics": atomics}, "threads": 3,
                    "workload": {"kind": "atomic", "operation": operation, "words": words},
                }));
                let outcome = run("micro", &request);
                if outcome.types().contains(&"error") {
                    let error = outcome.only("error");
                    assert_ne!(atomics, "std");
                    assert_eq!((outcome.code, &error["kind"]), (Some(3), &"missing".into()));
                    assert!(error["next"].as_str().unwrap().contains("aarch64"), "{error}");
                    continue;
                }
                let (manifest, _) = sound(&outcome, &request);
                assert_eq!(manifest["atomics"], atomics);
            }
        }
    }
}

#[test]
fn accesses_under_every_order_add_up() {
    for order in ["relaxed", "acq-rel", "seq-cst"] {
        for access in ["store", "load", "rmw"] {
            let request = short(json!({
                "parts": {"order": order, "repeat_every": 7}, "threads": 2,
                "workload": {"kind": "order", "access": access, "words": "one"},
            }));
            // Counters may lie beside the window by a batch per thread.
            let outcome = run_enough("micro", &request, 500_000);
            let (manifest, result) = sound(&outcome, &request);
            assert_eq!(manifest["order"], order);
            assert_eq!(result["ran"][0]["role"], "order");
            let executed = result["executed"].as_f64().unwrap();
            let seen = executed / result["operations"].as_f64().unwrap();
            assert!((seen * 7.0 / 8.0 - 1.0).abs() < 0.02, "{seen}");
        }
    }
}

#[test]
fn counters_lie_as_far_apart_as_asked_for() {
    for stride in [8, 16, 32, 64, 128, 256] {
        let request = short(json!({
            "parts": {"stride": stride}, "workload": {"kind": "counters"}, "threads": 3,
        }));
        let (manifest, _) = measured("micro", &request);
        assert_eq!(manifest["counter_stride_bytes"], stride);
    }
    let request = json!({"parts": {"stride": 24}, "workload": {"kind": "counters"}});
    let error = run("micro", &request).only("error").clone();
    assert_eq!(error["kind"], "usage");
}

#[test]
fn a_chase_goes_through_what_was_asked_for_on_the_pages_asked_for() {
    for (bytes, stride) in [(1 << 20, 64), (8 << 20, 4096)] {
        let workload = json!({"kind": "chase", "bytes": bytes, "stride": stride});
        let request = short(json!({"workload": workload, "threads": 2}));
        let (manifest, result) = measured("micro", &request);
        assert_eq!(manifest["places"], bytes / stride);
        assert_eq!(manifest["chase_stride_bytes"], stride);
        assert!(manifest["memory"]["bytes"].as_u64().unwrap() >= bytes);
        assert_eq!(
            (&result["ran"][0]["role"], &manifest["pages"]),
            (&json!("chase"), &json!("4k"))
        );
    }
    for workload in [json!({"stride": 32}), json!({"stride": 100}), json!({"bytes": 64})] {
        let mut workload = workload;
        workload["kind"] = "chase".into();
        let error = run("micro", &json!({"workload": workload})).only("error").clone();
        assert_eq!(error["kind"], "usage");
    }
}

/// Every choice of a part runs and is named, or is missing with exit code 3.
#[test]
fn every_choice_of_every_small_kind_runs_or_is_missing() {
    let choices: &[(&str, &str, &[&str])] = &[
        ("call", "call", &["inlined", "direct", "pointer", "dyn"]),
        ("unaligned", "alignment", &["aligned", "within-line", "across-line", "across-page"]),
        (
            "timer",
            "timer",
            &["clock-gettime", "instant", "rdtsc", "rdtscp", "cntvct", "isb-cntvct"],
        ),
        ("hash", "hash", &["xxh3-detected", "xxh3-compiled", "chacha20"]),
        ("compress", "compression", &["copy", "lz4", "zstd"]),
        ("simd", "simd", &["scalar", "auto", "sse2", "avx2", "neon", "translated"]),
    ];
    for (kind, part, names) in choices {
        let mut ran = 0;
        for name in *names {
            let request = short(json!({
                "parts": {*part: name, "repeat_every": 5}, "threads": 2,
                "workload": {"kind": kind},
            }));
            let outcome = run_enough("micro", &request, 1);
            if outcome.types().contains(&"error") {
                let error = outcome.only("error");
                assert_eq!((outcome.code, &error["kind"]), (Some(3), &"missing".into()), "{error}");
                assert!(error["message"].as_str().unwrap().contains(name), "{error}");
                continue;
            }
            ran += 1;
            let (manifest, result) = sound(&outcome, &request);
            assert_eq!(manifest[*part], **name);
            assert_eq!(result["ran"][0]["role"], *kind);
            assert!(result["operations"].as_u64().unwrap() > 0);
        }
        assert!(ran >= 2, "{kind}");
    }
}

#[test]
fn what_is_compressed_states_its_ratio_and_decompresses() {
    let ratio = |compression: &str, percent: u64, direction: &str| {
        let workload =
            json!({"kind": "compress", "repeated_percent": percent, "direction": direction});
        let parts = json!({"compression": compression});
        let request = short(json!({"parts": parts, "workload": workload}));
        measured("micro", &request).0["compression_ratio"].as_f64().unwrap()
    };
    assert_eq!(ratio("copy", 60, "compress"), 1.0);
    assert!(ratio("lz4", 90, "decompress") > ratio("lz4", 30, "compress"));
    assert!(ratio("zstd", 90, "decompress") > 2.0);
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
    let (arch, foreign) = if is_x86() {
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
    // Every emulated CPU has the instruction.
    let best = if is_x86() { Crc32cLevel::best(16).name() } else { "hardware" };
    assert_eq!(used("auto", 16), best);
}

/// Counts, not times: contention counters see every operation, the histogram only the counted ones.
#[test]
fn repeated_operations_are_carried_out_but_not_counted() {
    for (every, ratio) in [(0, 1.0), (1, 2.0), (4, 1.25)] {
        let request = json!({
            "parts": {"repeat_every": every}, "workload": {"records": 1000}, "threads": 1,
            "warmup_ms": 10,
        });
        let (_, result) = sound(&run_enough("engine", &request, 20_000), &request);
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
