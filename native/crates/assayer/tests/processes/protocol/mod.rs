//! The wire format, read by types of its own that refuse unknown fields: a change of the writer
//! that the specification does not know breaks here. The captured examples, which the Python side
//! reads as well, and fresh output go through the same types.
//!
//! `ASSAY_CAPTURE=1 cargo test --release -p assayer --test processes protocol` captures the examples anew.

mod images;
mod job;
mod libraries;
pub mod load;
mod profile;
mod types;

use std::path::PathBuf;

use images::*;
use job::JobResult;
use serde::Deserialize;
use serde_json::{Value, json};
use types::*;

use crate::support::{Outcome, run};

fn read<T: for<'de> Deserialize<'de>>(data: Value) {
    let shown = data.to_string();
    if let Err(error) = serde_json::from_value::<T>(data) {
        panic!("{error} in {shown}");
    }
}

/// One message of a named example through the types of its verb.
fn read_message(example: &str, message: Value) {
    let Envelope { r#type: kind, data } = serde_json::from_value(message).unwrap();
    match (kind.as_str(), example) {
        ("phase", _) => read::<Phase>(data),
        ("checked", _) => read::<Checked>(data),
        ("ready", "engine") => read::<Ready<EngineManifest>>(data),
        ("ready", "engine-trade-desk") => read::<Ready<TransactionalManifest>>(data),
        ("ready", "engine-aggregate") => read::<Ready<AggregateManifest>>(data),
        ("ready", "micro-lock") => read::<Ready<LockManifest>>(data),
        ("ready", "micro-crc32c") => read::<Ready<Crc32cManifest>>(data),
        ("ready", "micro-atomic") => read::<Ready<AtomicManifest>>(data),
        ("ready", "micro-order") => read::<Ready<OrderManifest>>(data),
        ("ready", "micro-counters") => read::<Ready<CountersManifest>>(data),
        ("ready", "micro-call") => read::<Ready<CallManifest>>(data),
        ("ready", "micro-chase") => read::<Ready<ChaseManifest>>(data),
        ("ready", "micro-unaligned") => read::<Ready<UnalignedManifest>>(data),
        ("ready", "micro-timer") => read::<Ready<TimerManifest>>(data),
        ("ready", "micro-hash") => read::<Ready<HashManifest>>(data),
        ("ready", "micro-compress") => read::<Ready<CompressManifest>>(data),
        ("ready", "micro-simd") => read::<Ready<SimdManifest>>(data),
        ("ready", "load" | "load-errors") => read::<Ready<LoadManifest>>(data),
        ("ready", "store-rocksdb" | "store-sqlite") => read::<Ready<StoreManifest>>(data),
        ("ready", "sample") => read::<Ready<SampleManifest>>(data),
        ("sample", "sample") => read::<Sample>(data),
        ("result", "sample") => read::<Sampled>(data),
        ("ready", "profile" | "profile-check") => read::<Ready<ProfileManifest>>(data),
        ("result", "job") => read::<JobResult>(data),
        ("result", "profile") => read::<Profiled>(data),
        ("options", _) => read::<StoreOptions>(data),
        ("loading", _) => read::<Loading>(data),
        ("result", "store-prepare") => read::<DataState>(data),
        ("health", "load" | "load-errors") => read::<LoadHealth>(data),
        ("serving", "serve") => read::<Serving>(data),
        ("result", "serve") => read::<Served>(data),
        ("interval", _) => read::<Interval>(data),
        ("health", _) => read::<Health>(data),
        ("error", _) => read::<Error>(data),
        ("result", "facts") => read::<Facts>(data),
        ("result", "census") => read::<Census>(data),
        ("census", _) => read::<ImageCensus>(data),
        ("object", _) => read::<ObjectFile>(data),
        ("refused", _) => read::<RefusedFile>(data),
        ("result", "census-images" | "object") => read::<Surveyed>(data),
        ("result", "hits") => read::<HitsFile>(data),
        ("result", _) => read::<RunResult>(data),
        (kind, example) => panic!("{kind} is not a message of {example}"),
    }
}

/// The examples: a name, the verb, the request.
fn examples() -> Vec<(&'static str, &'static str, Value)> {
    let short = |request: Value| {
        let times = json!({"warmup_ms": 20, "window_ms": 50, "interval_ms": 30, "threads": 2});
        let mut all = request;
        let (fields, times) = (all.as_object_mut().unwrap(), times.as_object().unwrap().clone());
        fields.extend(times);
        all
    };
    vec![
        (
            "engine",
            "engine",
            short(json!({"parts": {"data_cache": "partitioned"},
                         "workload": {"kind": "ycsb", "mix": "a", "records": 2000}})),
        ),
        (
            "engine-trade-desk",
            "engine",
            short(json!({"parts": {"cc": "no-wait", "index": "latched"},
                         "workload": {"kind": "trade-desk", "accounts": 100,
                                      "report_share": 0.1}})),
        ),
        (
            "engine-aggregate",
            "engine",
            short(json!({"parts": {"plan": "cranelift-simd"},
                         "workload": {"kind": "aggregate", "rows": 1000}})),
        ),
        ("micro-lock", "micro", short(json!({"workload": {"kind": "lock", "locks": "each"}}))),
        ("micro-crc32c", "micro", short(json!({"workload": {"kind": "crc32c"}}))),
        ("micro-atomic", "micro", short(json!({"workload": {"kind": "atomic"}}))),
        ("micro-order", "micro", short(json!({"workload": {"kind": "order"}}))),
        ("micro-counters", "micro", short(json!({"workload": {"kind": "counters"}}))),
        ("micro-call", "micro", short(json!({"workload": {"kind": "call"}}))),
        (
            "micro-chase",
            "micro",
            short(json!({"workload": {"kind": "chase", "bytes": 1 << 20, "stride": 256}})),
        ),
        ("micro-unaligned", "micro", short(json!({"workload": {"kind": "unaligned"}}))),
        ("micro-timer", "micro", short(json!({"workload": {"kind": "timer"}}))),
        ("micro-hash", "micro", short(json!({"workload": {"kind": "hash"}}))),
        ("micro-compress", "micro", short(json!({"workload": {"kind": "compress"}}))),
        ("micro-simd", "micro", short(json!({"workload": {"kind": "simd"}}))),
        ("check", "engine", json!({"check_only": true, "workload": {"records": 2000}})),
        // Over before the first tick, so that there is one sample however fast this machine is.
        (
            "sample",
            "sample",
            json!({"seconds": 0.01, "hz": 1, "groups": ["cpu", "softnet", "vm", "energy"],
                   "pmu": [[{"name": "task_clock_ns", "type": 1, "config": 1}]]}),
        ),
        ("profile-check", "profile", json!({"pid": std::process::id(), "check_only": true})),
        ("facts", "facts", json!({})),
        ("hits", "hits", json!({"rows": 10_000})),
        (
            "census",
            "census",
            json!({"path": "/proc/self/exe", "symbols": ["assay_lock_ttas_slow_none", "absent"]}),
        ),
        ("census-images", "census", json!({"paths": [small_library(), "/proc/self/no-such-file"]})),
        (
            "object",
            "object",
            json!({"paths": ["/proc/self/exe", small_library(), "/proc/self/no-such-file"],
                   "symbols": ["assay_lock_ttas_slow_none", "absent"],
                   "references": [{"function": "main", "symbol": "absent"}]}),
        ),
        ("error", "engine", json!({"parts": {"colour": "red"}})),
    ]
}

/// A file for aarch64 without section headers: a helper of outline atomics, and a loop that waits
/// by it without a hint.
fn small_library() -> PathBuf {
    const WORDS: [u32; 19] = [
        // swp1_acq: adrp x16; ldrb w16, [x16]; cbz w16; swpab; ret; its fallback.
        0x9000_0010,
        0x3940_0210,
        0x3400_0070,
        0x38A0_8020,
        0xD65F_03C0,
        0x2A00_03F0,
        0x085F_FC20,
        0x0811_7C30,
        0x35FF_FFD1,
        0xD65F_03C0,
        // mov x19, x0; loop: mov w0, #1; mov x1, x19; bl swp1_acq; cbnz w0, loop; isb; ret.
        0xAA00_03F3,
        0x5280_0020,
        0xAA13_03E1,
        0x97FF_FFF3,
        0x35FF_FFA0,
        0xD503_3FDF,
        0xD65F_03C0,
        0xD503_201F,
        0xD503_201F,
    ];
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [3u16, 183] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    for number in [0u64, 64, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    let length = (120 + 4 * WORDS.len()) as u64;
    for number in [1u32, 5] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [0, 0, 0, length, length, 0x10000] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(WORDS.iter().flat_map(|word| word.to_le_bytes()));
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("small-library");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn example_file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "examples", "protocol", &format!("{name}.jsonl")].iter().collect()
}

#[test]
fn fresh_output_and_captured_examples_are_what_the_specification_says() {
    for (name, verb, request) in examples() {
        holds(name, run(verb, &request));
    }
}

/// Fresh output, and what was captured of the same name.
fn holds(name: &str, outcome: Outcome) {
    if std::env::var_os("ASSAY_CAPTURE").is_some() {
        std::fs::write(example_file(name), &outcome.text).unwrap();
    }
    let captured = std::fs::read_to_string(example_file(name)).unwrap();
    let captured: Vec<Value> =
        captured.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types = captured.iter().map(|message| message["type"].as_str().unwrap());
    assert_eq!(types.collect::<Vec<_>>(), outcome.types(), "{name}");
    for message in outcome.messages.into_iter().chain(captured) {
        read_message(name, message);
    }
}

#[test]
fn messages_come_in_the_order_of_the_specification() {
    let (_, verb, request) = examples().swap_remove(0);
    let outcome = run(verb, &request);
    let expected = ["phase", "ready", "phase", "phase", "interval", "interval", "health", "result"];
    assert_eq!(outcome.types(), expected);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn histograms_hold_the_operations_they_are_given_with() {
    let (_, verb, request) = examples().swap_remove(0);
    // On a busy machine so short a window may pass without an operation.
    let counted = (0..100).map(|_| run(verb, &request)).find_map(|outcome| {
        let total = outcome.only("result")["operations"].as_u64().unwrap();
        (total > 0).then_some((outcome, total))
    });
    let (outcome, total) = counted.expect("a window with operations");
    let result = outcome.only("result");
    assert_eq!(histogram_count(&result["histogram"]), total);
    let kinds = result["by_kind"].as_object().unwrap();
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["read", "update"]);
    for kind in kinds.values() {
        assert_eq!(histogram_count(&kind["histogram"]), kind["operations"].as_u64().unwrap());
    }
    let intervals = outcome.messages.iter().filter(|message| message["type"] == "interval");
    let counts = intervals.map(|interval| histogram_count(&interval["data"]["histogram"]));
    assert_eq!(counts.sum::<u64>(), total);
    let by_thread = result["threads"].as_array().unwrap().iter();
    let by_thread = by_thread.map(|thread| thread["operations"].as_u64().unwrap());
    assert_eq!(by_thread.sum::<u64>(), total);
}

fn histogram_count(encoded: &Value) -> u64 {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.as_str().unwrap());
    let mut deserializer = hdrhistogram::serialization::Deserializer::new();
    let histogram = deserializer.deserialize::<u64, _>(&mut bytes.unwrap().as_slice());
    histogram.unwrap().len()
}
