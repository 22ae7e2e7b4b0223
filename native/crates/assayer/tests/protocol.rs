//! The wire format, read by types of its own that refuse unknown fields: a change of the writer
//! that the specification does not know breaks here. The captured examples, which the Python side
//! reads as well, and fresh output go through the same types.
//!
//! `ASSAY_CAPTURE=1 cargo test --release -p assayer --test protocol` captures the examples anew.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.
#![allow(dead_code)] // Fields are declared to be checked, not read.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use support::run;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    r#type: String,
    data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checked {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    bytes: u64,
    anon_huge_bytes: u64,
    private_hugetlb_bytes: u64,
    kernel_page_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clock {
    source: String,
    hz: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ready<M> {
    verb: String,
    pid: u32,
    build_id: String,
    manifest: M,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineManifest {
    hint: String,
    hint_ns: u32,
    hint_repeats: u32,
    hint_ns_measured: f64,
    lock: String,
    elision: String,
    elision_retries: u64,
    htm: String,
    spin_limit: u32,
    padding: u64,
    data_cache: String,
    cache_partitions: u64,
    cache_share: u64,
    cache_pages: u64,
    pages: String,
    repeat_every: u64,
    threads: u64,
    cpus: Vec<Option<u64>>,
    lock_stride_bytes: u64,
    memory: Memory,
    clock: Clock,
    load_s: f64,
    records: u64,
    inputs_per_thread: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionalManifest {
    hint: String,
    hint_ns: u32,
    hint_repeats: u32,
    hint_ns_measured: f64,
    lock: String,
    elision: String,
    elision_retries: u64,
    htm: String,
    spin_limit: u32,
    padding: u64,
    index: String,
    hash_cache: String,
    cc: String,
    store: String,
    data_cache: String,
    system_cache: String,
    cache_partitions: u64,
    log: String,
    plan: String,
    rewrite: String,
    pages: String,
    repeat_every: u64,
    threads: u64,
    cpus: Vec<Option<u64>>,
    memory: Memory,
    clock: Clock,
    load_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AggregateManifest {
    plan: String,
    rewrite: String,
    repeat_every: u64,
    threads: u64,
    cpus: Vec<Option<u64>>,
    clock: Clock,
    load_s: f64,
    rows: u64,
    compile_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockManifest {
    hint: String,
    hint_ns: u32,
    hint_repeats: u32,
    hint_ns_measured: f64,
    lock: String,
    elision: String,
    elision_retries: u64,
    htm: String,
    spin_limit: u32,
    padding: u64,
    lock_stride_bytes: u64,
    pages: String,
    repeat_every: u64,
    threads: u64,
    cpus: Vec<Option<u64>>,
    memory: Memory,
    clock: Clock,
    load_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Crc32cManifest {
    crc32c: String,
    pages: String,
    repeat_every: u64,
    threads: u64,
    cpus: Vec<Option<u64>>,
    memory: Memory,
    clock: Clock,
    load_s: f64,
}

/// What every kind's manifest has beside its own fields. Not flattened: that would let unknown
/// fields pass.
macro_rules! micro_manifests {
    ($($name:ident { $($field:ident: $type:ty,)+ })+) => {$(
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($field: $type,)+
            pages: String,
            repeat_every: u64,
            threads: u64,
            cpus: Vec<Option<u64>>,
            memory: Memory,
            clock: Clock,
            load_s: f64,
        }
    )+};
}

micro_manifests! {
    AtomicManifest { atomics: String, }
    OrderManifest { order: String, }
    CountersManifest { stride: u64, counter_stride_bytes: u64, }
    CallManifest { call: String, }
    UnalignedManifest { alignment: String, load_offset_bytes: u64, }
    TimerManifest { timer: String, }
    HashManifest { hash: String, }
    CompressManifest { compression: String, zstd_level: i64, compression_ratio: f64, }
    SimdManifest { simd: String, }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interval {
    index: u64,
    start_ms: f64,
    length_ms: f64,
    operations: u64,
    errors: u64,
    histogram: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Health {
    loader: String,
    busiest_thread: (),
    late_sends: (),
    asked_per_s: (),
    achieved_per_s: f64,
    server_idle: f64,
    foreign_cpu: f64,
    steal: f64,
    clock_step_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindResult {
    operations: u64,
    histogram: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadResult {
    cpu: Option<u64>,
    operations: u64,
    cpu_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contention {
    grabs: u64,
    waits: u64,
    spins: u64,
    wait_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    symbol: String,
    instructions: u64,
    counts: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    role: String,
    address: String,
    calls: u64,
    made: Option<Made>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultMemory {
    bytes: Option<u64>,
    anon_huge_bytes: Option<u64>,
    private_hugetlb_bytes: Option<u64>,
    kernel_page_bytes: Option<u64>,
    rss_bytes: u64,
    page_table_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuShare {
    cpu: u64,
    busy: f64,
    user: f64,
    system: f64,
    softirq: f64,
    steal: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    records: Option<u64>,
    checksum_ok: bool,
    #[serde(default)]
    faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunResult {
    complete: bool,
    window_s: f64,
    operations: u64,
    errors: u64,
    latency_of: String,
    by_kind: BTreeMap<String, KindResult>,
    histogram: String,
    threads: Vec<ThreadResult>,
    contention: BTreeMap<String, Contention>,
    lookups: BTreeMap<String, u64>,
    counters: BTreeMap<String, u64>,
    executed: u64,
    ran: Vec<Ran>,
    memory: ResultMemory,
    cpus: Vec<CpuShare>,
    state: State,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Error {
    kind: String,
    message: String,
    next: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HugePages {
    bytes: u64,
    pool: u64,
    free: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thp {
    enabled: String,
    defrag: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HintCost {
    name: String,
    ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ability {
    ok: bool,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Htm {
    state: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Can {
    pmu: Ability,
    htm: Htm,
    hugetlb_2m: Ability,
    thp: Ability,
    numa: Ability,
    pin: Ability,
    root: Ability,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    arch: String,
    cpu_model: String,
    cpus: u64,
    cpu_features: Vec<String>,
    cache_line_bytes: Option<u64>,
    page_bytes: u64,
    kernel: String,
    distribution: String,
    numa_nodes: u64,
    memory_bytes: u64,
    huge_pages: Vec<HugePages>,
    thp: Option<Thp>,
    r#virtual: Option<bool>,
    clock: Clock,
    hints: Vec<HintCost>,
    can: Can,
    build_id: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    asked: String,
    symbol: String,
    raw: String,
    address: String,
    bytes: u64,
    instructions: u64,
    counts: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Census {
    arch: String,
    build_id: Option<String>,
    functions: Vec<Function>,
    missing: Vec<String>,
}

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
        ("ready", "micro-unaligned") => read::<Ready<UnalignedManifest>>(data),
        ("ready", "micro-timer") => read::<Ready<TimerManifest>>(data),
        ("ready", "micro-hash") => read::<Ready<HashManifest>>(data),
        ("ready", "micro-compress") => read::<Ready<CompressManifest>>(data),
        ("ready", "micro-simd") => read::<Ready<SimdManifest>>(data),
        ("interval", _) => read::<Interval>(data),
        ("health", _) => read::<Health>(data),
        ("error", _) => read::<Error>(data),
        ("result", "facts") => read::<Facts>(data),
        ("result", "census") => read::<Census>(data),
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
        ("micro-unaligned", "micro", short(json!({"workload": {"kind": "unaligned"}}))),
        ("micro-timer", "micro", short(json!({"workload": {"kind": "timer"}}))),
        ("micro-hash", "micro", short(json!({"workload": {"kind": "hash"}}))),
        ("micro-compress", "micro", short(json!({"workload": {"kind": "compress"}}))),
        ("micro-simd", "micro", short(json!({"workload": {"kind": "simd"}}))),
        ("check", "engine", json!({"check_only": true, "workload": {"records": 2000}})),
        ("facts", "facts", json!({})),
        (
            "census",
            "census",
            json!({"path": "/proc/self/exe", "symbols": ["assay_lock_ttas_slow_none", "absent"]}),
        ),
        ("error", "engine", json!({"parts": {"colour": "red"}})),
    ]
}

fn example_file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "examples", "protocol", &format!("{name}.jsonl")].iter().collect()
}

#[test]
fn fresh_output_and_captured_examples_are_what_the_specification_says() {
    for (name, verb, request) in examples() {
        let outcome = run(verb, &request);
        if std::env::var_os("ASSAY_CAPTURE").is_some() {
            std::fs::write(example_file(name), &outcome.text).unwrap();
        }
        let captured = std::fs::read_to_string(example_file(name)).unwrap();
        let captured = captured.lines().map(|line| serde_json::from_str(line).unwrap());
        for message in outcome.messages.into_iter().chain(captured) {
            read_message(name, message);
        }
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
    let outcome = run(verb, &request);
    let result = outcome.only("result");
    let total = result["operations"].as_u64().unwrap();
    assert!(total > 0);
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
