//! What is written. Types only; `protocol` has the meaning.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// The envelope of every line.
#[derive(Serialize)]
pub struct Line<'a, T> {
    #[serde(rename = "type")]
    pub kind: &'a str,
    pub data: &'a T,
}

#[derive(Serialize)]
pub struct Error<'a> {
    pub kind: &'a str,
    pub message: &'a str,
    pub next: &'a str,
}

#[derive(Serialize)]
pub struct Checked {}

#[derive(Serialize)]
pub struct Phase<'a> {
    pub name: &'a str,
}

#[derive(Serialize)]
pub struct Ready<'a, M> {
    pub verb: &'a str,
    pub pid: u32,
    pub build_id: &'a str,
    pub manifest: M,
}

#[derive(Clone, Copy, Serialize)]
pub struct ArenaMemory {
    pub bytes: u64,
    pub anon_huge_bytes: u64,
    pub private_hugetlb_bytes: u64,
    pub eligible_bytes: u64,
    pub kernel_page_bytes: u64,
}

#[derive(Clone, Copy, Serialize)]
pub struct Clock {
    pub source: &'static str,
    pub hz: u64,
}

/// Where a run's workers are, and what it is timed with.
#[derive(Clone, Serialize)]
pub struct Placed {
    pub threads: usize,
    pub cpus: Vec<Option<usize>>,
    pub clock: Clock,
}

/// What a waiting thread executes between two looks, and how often.
#[derive(Clone, Copy, Serialize)]
pub struct HintManifest {
    pub hint: &'static str,
    pub hint_ns: u32,
    pub hint_repeats: u32,
    pub hint_ns_measured: f64,
}

/// The locks of a run, and how threads wait for them.
#[derive(Clone, Copy, Serialize)]
pub struct WaitingManifest {
    #[serde(flatten)]
    pub hint: HintManifest,
    pub lock: &'static str,
    pub elision: &'static str,
    pub elision_retries: u32,
    pub htm: &'static str,
    pub spin_limit: u32,
    pub padding: usize,
}

#[derive(Serialize)]
pub struct EngineManifest {
    #[serde(flatten)]
    pub waiting: WaitingManifest,
    pub data_cache: &'static str,
    pub cache_partitions: usize,
    pub cache_share: usize,
    pub cache_pages: usize,
    pub pages: &'static str,
    pub repeat_every: u64,
    pub lock_stride_bytes: usize,
    pub memory: ArenaMemory,
    #[serde(flatten)]
    pub placed: Placed,
    pub load_s: f64,
    pub records: u64,
    pub inputs_per_thread: usize,
}

#[derive(Serialize)]
pub struct TransactionalManifest {
    #[serde(flatten)]
    pub waiting: WaitingManifest,
    pub index: &'static str,
    pub hash_cache: &'static str,
    pub cc: &'static str,
    pub store: &'static str,
    pub data_cache: &'static str,
    pub system_cache: &'static str,
    pub cache_partitions: usize,
    pub log: &'static str,
    pub plan: &'static str,
    pub rewrite: &'static str,
    pub pages: &'static str,
    pub repeat_every: u64,
    pub memory: ArenaMemory,
    #[serde(flatten)]
    pub placed: Placed,
    pub load_s: f64,
}

#[derive(Serialize)]
pub struct AggregateManifest {
    pub plan: &'static str,
    pub rewrite: &'static str,
    pub repeat_every: u64,
    #[serde(flatten)]
    pub placed: Placed,
    pub load_s: f64,
    pub rows: usize,
    pub compile_ms: f64,
}

/// What a lock workload chose and obtained.
#[derive(Serialize)]
pub struct LockManifest {
    #[serde(flatten)]
    pub waiting: WaitingManifest,
    pub lock_stride_bytes: usize,
}

#[derive(Serialize)]
pub struct MicroManifest {
    /// What the kind chose and obtained.
    #[serde(flatten)]
    pub chosen: serde_json::Value,
    pub pages: &'static str,
    pub repeat_every: u64,
    pub memory: ArenaMemory,
    #[serde(flatten)]
    pub placed: Placed,
    pub load_s: f64,
}

pub use assay_measure::Health;

#[derive(Serialize)]
pub struct KindResult {
    pub operations: u64,
    pub histogram: String,
}

#[derive(Serialize)]
pub struct ThreadResult {
    pub cpu: Option<usize>,
    pub operations: u64,
    pub cpu_s: f64,
}

#[derive(Serialize)]
pub struct Contention {
    pub grabs: u64,
    pub waits: u64,
    pub spins: u64,
    pub wait_s: f64,
}

#[derive(Serialize)]
pub struct Ran {
    pub role: &'static str,
    pub address: String,
    pub calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// A function that was compiled at run time, and is in no file.
#[derive(Serialize)]
pub struct Made {
    pub symbol: &'static str,
    pub instructions: u64,
    pub counts: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
pub struct ResultMemory {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub arena: Option<ArenaMemory>,
    pub rss_bytes: u64,
    pub page_table_bytes: u64,
}

#[derive(Serialize)]
pub struct CpuShare {
    pub cpu: usize,
    pub busy: f64,
    pub user: f64,
    pub system: f64,
    pub softirq: f64,
    pub steal: f64,
}

#[derive(Clone, Serialize)]
pub struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    pub checksum_ok: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl State {
    /// Without words for what is wrong.
    pub fn of(records: u64, checksum_ok: bool) -> Self {
        Self { records: Some(records), checksum_ok, faults: Vec::new() }
    }
}

#[derive(Serialize)]
pub struct RunResult {
    pub complete: bool,
    pub window_s: f64,
    pub operations: u64,
    pub errors: u64,
    pub latency_of: String,
    pub overhead_ns_per_operation: Option<f64>,
    pub by_kind: BTreeMap<&'static str, KindResult>,
    pub histogram: String,
    pub threads: Vec<ThreadResult>,
    pub contention: BTreeMap<&'static str, Contention>,
    pub lookups: BTreeMap<&'static str, u64>,
    pub counters: BTreeMap<&'static str, u64>,
    pub executed: u64,
    pub ran: Vec<Ran>,
    pub memory: ResultMemory,
    pub cpus: Vec<CpuShare>,
    pub state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerUsage>,
}

/// What the server's processes used over the window, and hold after it.
#[derive(Clone, Serialize)]
pub struct ServerUsage {
    pub cpu_s: f64,
    pub rss_bytes: u64,
    pub pss_bytes: Option<u64>,
    pub processes: usize,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// What a server answered: by question its rows, by row its columns.
#[derive(Serialize)]
pub struct Answers {
    pub answers: Vec<Vec<Vec<Option<String>>>>,
}

/// What is said of load on a server.
#[derive(Clone, Serialize)]
pub struct Load {
    pub connections: usize,
    /// Version and cipher suite; none without TLS.
    pub tls: Option<String>,
    pub service: String,
    pub lateness: String,
    pub cpu_us_per_operation: f64,
    pub ended_by: Option<String>,
    /// Requests that the server refused, by its codes in the order in which they were met; they
    /// add up to `errors` of the result.
    pub errors: Vec<Refused>,
}

/// Requests that the server refused with one code.
#[derive(Clone, Serialize)]
pub struct Refused {
    pub kind: &'static str,
    pub code: String,
    /// The first one's.
    pub message: String,
    pub count: u64,
}

/// Servers that answer from now on.
#[derive(Serialize)]
pub struct Serving<'a> {
    pub pid: u32,
    pub ports: &'a [u16],
}

/// They have ended.
#[derive(Serialize)]
pub struct Served {}

/// How far the loading is.
#[derive(Serialize)]
pub struct Loading {
    pub rows: u64,
    pub of: u64,
}

/// The data on a server, and what is wrong with them.
#[derive(Serialize)]
pub struct DataState {
    pub rows: u64,
    pub seconds: f64,
    pub faults: Vec<String>,
}

#[derive(Serialize)]
pub struct LoadManifest {
    pub server: String,
    pub connections: usize,
    /// Of the workers that ran; several are joined by `+`.
    pub backend: String,
    #[serde(flatten)]
    pub placed: Placed,
    pub connect_s: f64,
}

#[derive(Serialize)]
pub struct StoreManifest {
    pub store: &'static str,
    pub library: PathBuf,
    pub library_build_id: Option<String>,
    pub version: String,
    pub settings: BTreeMap<String, String>,
    #[serde(flatten)]
    pub placed: Placed,
    pub open_s: f64,
    pub records: u64,
    pub log: BTreeMap<String, String>,
}

/// A library's settings with their defaults.
#[derive(Serialize)]
pub struct StoreOptions<'a> {
    pub version: &'a str,
    pub options: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
pub struct HugePages {
    pub bytes: u64,
    pub pool: u64,
    pub free: u64,
}

#[derive(Serialize)]
pub struct Thp<'a> {
    pub enabled: &'a str,
    pub defrag: &'a str,
}

#[derive(Serialize)]
pub struct HintCost {
    pub name: &'static str,
    pub ns: f64,
}

#[derive(Serialize)]
pub struct Ability<'a> {
    pub ok: bool,
    pub why: &'a str,
}

#[derive(Serialize)]
pub struct Htm<'a> {
    pub state: &'a str,
    pub why: &'a str,
}

#[derive(Serialize)]
pub struct Can<'a> {
    pub pmu: Ability<'a>,
    pub htm: Htm<'a>,
    pub hugetlb_2m: Ability<'a>,
    pub thp: Ability<'a>,
    pub numa: Ability<'a>,
    pub pin: Ability<'a>,
    pub root: Ability<'a>,
}

#[derive(Serialize)]
pub struct Facts<'a> {
    pub arch: &'a str,
    pub cpu_model: &'a str,
    pub cpus: u64,
    pub cpu_features: &'a [String],
    pub cache_line_bytes: Option<u64>,
    pub page_bytes: u64,
    pub kernel: &'a str,
    pub distribution: &'a str,
    pub numa_nodes: u64,
    pub memory_bytes: u64,
    pub huge_pages: Vec<HugePages>,
    pub thp: Option<Thp<'a>>,
    #[serde(rename = "virtual")]
    pub is_virtual: Option<bool>,
    pub clock: Clock,
    pub hints: Vec<HintCost>,
    pub can: Can<'a>,
    pub build_id: &'a str,
    pub version: &'a str,
}

#[derive(Serialize)]
pub struct Function {
    pub asked: String,
    pub symbol: String,
    pub raw: String,
    pub address: String,
    pub bytes: u64,
    pub instructions: u64,
    pub counts: BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
pub struct Census {
    pub arch: &'static str,
    pub build_id: Option<String>,
    pub functions: Vec<Function>,
    pub missing: Vec<String>,
}

/// The end of a survey of whole files: how many images, how many refusals.
#[derive(Debug, Default, Serialize)]
pub struct Surveyed {
    pub images: u64,
    pub refused: u64,
}

/// What `hits` has written, and the statements of its workload.
#[derive(Serialize)]
pub struct HitsFile {
    pub complete: bool,
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub create: String,
    pub queries: BTreeMap<&'static str, String>,
}

/// What `sample` counts, and what it cannot.
#[derive(Serialize)]
pub struct SampleManifest<'a> {
    pub hz: u32,
    pub pid: Option<u32>,
    pub started_s: f64,
    pub counters: Vec<&'a str>,
    pub levels: Vec<&'a str>,
    pub costly: Vec<&'a str>,
    pub absent: BTreeMap<String, String>,
}

/// A reading; values stand in the order of the manifest's counters.
#[derive(Serialize)]
pub struct Sample<'a> {
    pub at_s: f64,
    pub mark: Option<u64>,
    pub values: &'a [Option<u64>],
}

#[derive(Serialize)]
pub struct Sampled {
    pub complete: bool,
    pub seconds: f64,
    pub samples: u64,
    pub cpu_s: f64,
}

/// How `profile` samples, and what it cannot.
#[derive(Serialize)]
pub struct ProfileManifest {
    pub pid: u32,
    pub hz: u32,
    pub event: Option<&'static str>,
    pub kernel: bool,
    pub threads: usize,
    pub started_s: f64,
    pub absent: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
pub struct ProfiledFunction {
    pub name: String,
    pub module: String,
}

/// Places in the functions, outermost first.
#[derive(Serialize)]
pub struct ProfiledStack {
    pub frames: Vec<usize>,
    pub count: u64,
}

/// What was sampled between the first mark and the last.
#[derive(Serialize)]
pub struct Profiled {
    pub complete: bool,
    pub began_s: f64,
    pub seconds: f64,
    pub event: &'static str,
    pub hz: u32,
    pub kernel: bool,
    pub samples: u64,
    pub lost: u64,
    pub cpu_s: f64,
    pub functions: Vec<ProfiledFunction>,
    pub stacks: Vec<ProfiledStack>,
}

/// One execution of a command.
#[derive(Serialize)]
pub struct JobExecution {
    pub wall_ns: u64,
    pub user_us: u64,
    pub system_us: u64,
    pub max_rss_bytes: u64,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub output: Option<String>,
    pub output_bytes: u64,
}

#[derive(Serialize)]
pub struct JobResult {
    pub complete: bool,
    pub window_s: f64,
    pub executions: Vec<JobExecution>,
    pub empty: Vec<JobExecution>,
    pub histogram: String,
    pub cpus: Vec<CpuShare>,
    pub server: Option<ServerUsage>,
}
