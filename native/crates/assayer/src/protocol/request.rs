//! What a request may contain. Types only; `protocol` has the meaning.

use assay_engine::DataCacheKind;
use assay_plans::{PlanKind, Rewrite};
use assay_primitives::{Crc32cChoice, Hint, LockKind, PageMode};
use assay_workload::{Chooser, Mix};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Reads a name and finds the value that carries it.
fn named<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    all.iter().copied().find(|value| name(*value) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        serde::de::Error::custom(format!("`{text}` is not one of: {}", names.join(", ")))
    })
}

macro_rules! by_name {
    ($($function:ident $kind:ident;)+) => {$(
        fn $function<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$kind, D::Error> {
            named(deserializer, &$kind::ALL, $kind::name)
        }
    )+};
}

by_name! {
    hint Hint;
    lock LockKind;
    data_cache DataCacheKind;
    pages PageMode;
    plan PlanKind;
    rewrite Rewrite;
    mix Mix;
    chooser Chooser;
}

/// What both measuring verbs share, beside parts and workload.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub threads: usize,
    pub pin: bool,
    pub seed: u64,
    pub warmup_ms: u64,
    pub window_ms: u64,
    pub interval_ms: u64,
}

macro_rules! with_schedule {
    ($(#[$attribute:meta])* pub struct $name:ident { $($body:tt)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($body)*
            #[serde(default = "default_threads")]
            threads: usize,
            #[serde(default = "default_pin")]
            pin: bool,
            #[serde(default = "default_seed")]
            seed: u64,
            #[serde(default = "default_warmup_ms")]
            warmup_ms: u64,
            #[serde(default = "default_window_ms")]
            window_ms: u64,
            #[serde(default = "default_interval_ms")]
            interval_ms: u64,
            #[serde(default)]
            pub check_only: bool,
        }

        impl $name {
            /// How long, how many, where.
            pub fn schedule(&self) -> Schedule {
                Schedule {
                    threads: self.threads,
                    pin: self.pin,
                    seed: self.seed,
                    warmup_ms: self.warmup_ms,
                    window_ms: self.window_ms,
                    interval_ms: self.interval_ms,
                }
            }
        }
    };
}

with_schedule! {
    /// The request of `engine`.
    pub struct EngineRequest {
        #[serde(default)]
        pub parts: EngineParts,
        #[serde(default)]
        pub workload: EngineWorkload,
    }
}

with_schedule! {
    /// The request of `micro`.
    pub struct MicroRequest {
        #[serde(default)]
        pub parts: MicroParts,
        pub workload: MicroWorkload,
    }
}

fn default_threads() -> usize {
    2
}

fn default_pin() -> bool {
    true
}

fn default_seed() -> u64 {
    1
}

fn default_warmup_ms() -> u64 {
    200
}

fn default_window_ms() -> u64 {
    500
}

fn default_interval_ms() -> u64 {
    1000
}

/// `parts` of `engine`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineParts {
    #[serde(deserialize_with = "hint")]
    pub hint: Hint,
    #[serde(deserialize_with = "lock")]
    pub lock: LockKind,
    pub spin_limit: u32,
    pub padding: usize,
    #[serde(deserialize_with = "data_cache")]
    pub data_cache: DataCacheKind,
    pub cache_partitions: usize,
    #[serde(deserialize_with = "pages")]
    pub pages: PageMode,
    #[serde(deserialize_with = "plan")]
    pub plan: PlanKind,
    #[serde(deserialize_with = "rewrite")]
    pub rewrite: Rewrite,
    pub repeat_every: u64,
}

impl Default for EngineParts {
    fn default() -> Self {
        Self {
            hint: Hint::None,
            lock: LockKind::Ttas,
            spin_limit: 2048,
            padding: 64,
            data_cache: DataCacheKind::OneLock,
            cache_partitions: 64,
            pages: PageMode::Small,
            plan: PlanKind::Vectorised,
            rewrite: Rewrite::Off,
            repeat_every: 0,
        }
    }
}

/// `workload` of `engine`: its `kind`, `ycsb` when left out, and what that kind takes.
#[derive(Clone, Debug)]
pub enum EngineWorkload {
    Ycsb(Ycsb),
    Aggregate(Aggregate),
}

impl Default for EngineWorkload {
    fn default() -> Self {
        Self::Ycsb(Ycsb::default())
    }
}

impl<'de> Deserialize<'de> for EngineWorkload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut fields = Map::deserialize(deserializer)?;
        let kind = fields.remove("kind").unwrap_or_else(|| "ycsb".into());
        let fields = Value::Object(fields);
        match kind.as_str() {
            Some("ycsb") => serde_json::from_value(fields).map(Self::Ycsb),
            Some("aggregate") => serde_json::from_value(fields).map(Self::Aggregate),
            _ => return Err(D::Error::custom(format!("{kind} is not one of: ycsb, aggregate"))),
        }
        .map_err(D::Error::custom)
    }
}

/// The workload `ycsb`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ycsb {
    #[serde(deserialize_with = "mix")]
    pub mix: Mix,
    pub records: u64,
    pub fields: usize,
    pub field_bytes: usize,
    #[serde(deserialize_with = "chooser")]
    pub chooser: Chooser,
    pub theta: f64,
    pub operations: u64,
    pub max_scan: u64,
}

impl Default for Ycsb {
    fn default() -> Self {
        Self {
            mix: Mix::C,
            records: 100_000,
            fields: 10,
            field_bytes: 100,
            chooser: Chooser::Scrambled10e10,
            theta: 0.99,
            operations: 1_000_000,
            max_scan: 100,
        }
    }
}

/// The workload `aggregate`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Aggregate {
    pub rows: usize,
    pub sums: usize,
}

impl Default for Aggregate {
    fn default() -> Self {
        Self { rows: 100_000, sums: 90 }
    }
}

/// `parts` of `micro`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MicroParts {
    #[serde(deserialize_with = "hint")]
    pub hint: Hint,
    #[serde(deserialize_with = "lock")]
    pub lock: LockKind,
    pub spin_limit: u32,
    pub padding: usize,
    #[serde(deserialize_with = "pages")]
    pub pages: PageMode,
    pub repeat_every: u64,
    #[serde(deserialize_with = "crc32c")]
    pub crc32c: Crc32cChoice,
}

impl Default for MicroParts {
    fn default() -> Self {
        let EngineParts { hint, lock, spin_limit, padding, pages, repeat_every, .. } =
            EngineParts::default();
        let crc32c = Crc32cChoice::Auto;
        Self { hint, lock, spin_limit, padding, pages, repeat_every, crc32c }
    }
}

/// A level, or one of the dispatches that choose it.
fn crc32c<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Crc32cChoice, D::Error> {
    let choices: Vec<_> = Crc32cChoice::all().collect();
    named(deserializer, &choices, |(name, _)| name).map(|(_, choice)| choice)
}

/// `workload` of `micro`.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum MicroWorkload {
    Lock(LockWorkload),
    Crc32c(Crc32cWorkload),
}

/// Which thread takes which lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locks {
    #[default]
    One,
    Each,
}

/// Taking and releasing a lock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LockWorkload {
    pub locks: Locks,
    pub hold: u32,
    pub gap: u32,
}

impl Default for LockWorkload {
    fn default() -> Self {
        Self { locks: Locks::One, hold: 4, gap: 20 }
    }
}

/// The CRC32C of a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Crc32cWorkload {
    pub buffer_bytes: usize,
}

impl Default for Crc32cWorkload {
    fn default() -> Self {
        Self { buffer_bytes: 16_384 }
    }
}

/// The request of `facts`: nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactsRequest {}

/// The request of `census`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CensusRequest {
    pub path: std::path::PathBuf,
    #[serde(default)]
    pub symbols: Vec<String>,
    #[serde(default)]
    pub addresses: Vec<String>,
}
