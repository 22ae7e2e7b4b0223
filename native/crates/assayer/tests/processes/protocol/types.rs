//! The messages, as the specification has them.
#![allow(dead_code)] // Fields are declared to be checked, not read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    pub r#type: String,
    pub data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checked {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    bytes: u64,
    anon_huge_bytes: u64,
    private_hugetlb_bytes: u64,
    eligible_bytes: u64,
    kernel_page_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    source: String,
    hz: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready<M> {
    verb: String,
    pid: u32,
    build_id: String,
    manifest: M,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineManifest {
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
pub struct TransactionalManifest {
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
pub struct AggregateManifest {
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
pub struct LockManifest {
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
pub struct Crc32cManifest {
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
        pub struct $name {
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
    ChaseManifest { chase_stride_bytes: u64, places: u64, }
    UnalignedManifest { alignment: String, load_offset_bytes: u64, }
    TimerManifest { timer: String, }
    HashManifest { hash: String, }
    CompressManifest { compression: String, zstd_level: i64, compression_ratio: f64, }
    SimdManifest { simd: String, }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    index: u64,
    start_ms: f64,
    length_ms: f64,
    operations: u64,
    errors: u64,
    histogram: String,
    slice: Option<SliceUse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceUse {
    turn: u64,
    early: Vec<u64>,
    server_cpu_s: Option<f64>,
    rest_s: Option<f64>,
    rest_cpu_s: Option<f64>,
    calibration: Option<f64>,
    foreign_cpu_s: f64,
    steal_s: f64,
    drain_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
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
pub struct KindResult {
    operations: u64,
    histogram: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadResult {
    cpu: Option<u64>,
    operations: u64,
    cpu_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    grabs: u64,
    waits: u64,
    spins: u64,
    wait_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    symbol: String,
    instructions: u64,
    counts: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    role: String,
    address: String,
    calls: u64,
    made: Option<Made>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultMemory {
    bytes: Option<u64>,
    anon_huge_bytes: Option<u64>,
    private_hugetlb_bytes: Option<u64>,
    eligible_bytes: Option<u64>,
    kernel_page_bytes: Option<u64>,
    rss_bytes: u64,
    page_table_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuShare {
    cpu: u64,
    busy: f64,
    user: f64,
    system: f64,
    softirq: f64,
    steal: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    records: Option<u64>,
    checksum_ok: bool,
    #[serde(default)]
    faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    complete: bool,
    window_s: f64,
    operations: u64,
    errors: u64,
    latency_of: String,
    overhead_ns_per_operation: Option<f64>,
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
    load: Option<Load>,
    server: Option<ServerUsage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreManifest {
    store: String,
    library: String,
    library_build_id: Option<String>,
    version: String,
    settings: BTreeMap<String, String>,
    threads: u64,
    cpus: Vec<Option<u64>>,
    clock: Clock,
    open_s: f64,
    records: u64,
    log: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreOptions {
    version: String,
    options: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loading {
    rows: u64,
    of: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataState {
    rows: u64,
    seconds: f64,
    faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerUsage {
    cpu_s: f64,
    rss_bytes: u64,
    pss_bytes: Option<u64>,
    processes: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

/// What a load says of its own health, where others say nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadHealth {
    loader: String,
    busiest_thread: f64,
    late_sends: Option<f64>,
    asked_per_s: Option<f64>,
    achieved_per_s: f64,
    server_idle: f64,
    foreign_cpu: f64,
    steal: f64,
    clock_step_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadManifest {
    server: String,
    connections: u64,
    threads: u64,
    backend: String,
    cpus: Vec<Option<u64>>,
    clock: Clock,
    connect_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    connections: u64,
    service: String,
    lateness: String,
    cpu_us_per_operation: f64,
    ended_by: Option<String>,
    tls: Option<String>,
    errors: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    kind: String,
    code: String,
    message: String,
    count: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serving {
    pid: u32,
    ports: Vec<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Error {
    kind: String,
    message: String,
    next: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HugePages {
    bytes: u64,
    pool: u64,
    free: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thp {
    enabled: String,
    defrag: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintCost {
    name: String,
    ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ability {
    ok: bool,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htm {
    state: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Can {
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
pub struct Facts {
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
pub struct HitsFile {
    complete: bool,
    rows: u64,
    bytes: u64,
    seconds: f64,
    create: String,
    queries: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleManifest {
    hz: u32,
    pid: Option<u32>,
    started_s: f64,
    counters: Vec<String>,
    levels: Vec<String>,
    costly: Vec<String>,
    absent: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    at_s: f64,
    mark: Option<u64>,
    values: Vec<Option<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    complete: bool,
    seconds: f64,
    samples: u64,
    cpu_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileManifest {
    pid: u32,
    hz: u32,
    event: Option<String>,
    kernel: bool,
    threads: usize,
    started_s: f64,
    absent: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledFunction {
    name: String,
    module: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfiledStack {
    frames: Vec<usize>,
    count: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiled {
    complete: bool,
    began_s: f64,
    seconds: f64,
    event: String,
    hz: u32,
    kernel: bool,
    samples: u64,
    lost: u64,
    cpu_s: f64,
    functions: Vec<ProfiledFunction>,
    stacks: Vec<ProfiledStack>,
}
