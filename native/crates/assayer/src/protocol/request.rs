//! What a request may contain. Types only; `protocol` has the meaning.

use std::path::PathBuf;

use assay_engine::transactional::{CcChoice, IndexChoice, Store};
use assay_engine::{DataCacheKind, Elision};
use assay_log::LogMode;
use assay_plans::{PlanKind, Rewrite};
use assay_primitives::{Hint, LockKind, PageMode};
use assay_stores::Kind;
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
    elision Elision;
    data_cache DataCacheKind;
    pages PageMode;
    index IndexChoice;
    cc CcChoice;
    store Store;
    log LogMode;
    plan PlanKind;
    rewrite Rewrite;
    mix Mix;
    chooser Chooser;
    store_kind Kind;
}

/// `on` or `off`.
fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    named(deserializer, &[false, true], |on| if on { "on" } else { "off" })
}

pub use assay_measure::{Schedule, Slices};

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
            slices: Option<$crate::protocol::request::Slices>,
            #[serde(default)]
            pub check_only: bool,
        }

        impl $name {
            /// How long, how many, where.
            pub fn schedule(&self) -> Schedule {
                Schedule {
                    slices: self.slices.clone(),
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

mod load;
mod micro;
mod object;
mod profile;
mod sample;
mod serve;
mod store;

pub use load::*;
pub use micro::*;
pub use object::*;
pub use profile::*;
pub use sample::*;
pub use serve::*;
pub use store::*;

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
    pub hint_ns: u32,
    pub hint_repeats: u32,
    #[serde(deserialize_with = "lock")]
    pub lock: LockKind,
    #[serde(deserialize_with = "elision")]
    pub elision: Elision,
    pub elision_retries: u32,
    pub spin_limit: u32,
    pub padding: usize,
    #[serde(deserialize_with = "data_cache")]
    pub data_cache: DataCacheKind,
    pub cache_partitions: usize,
    pub cache_share: usize,
    #[serde(deserialize_with = "pages")]
    pub pages: PageMode,
    #[serde(deserialize_with = "data_cache")]
    pub system_cache: DataCacheKind,
    #[serde(deserialize_with = "index")]
    pub index: IndexChoice,
    #[serde(deserialize_with = "cc")]
    pub cc: CcChoice,
    #[serde(deserialize_with = "store")]
    pub store: Store,
    #[serde(deserialize_with = "switch")]
    pub hash_cache: bool,
    #[serde(deserialize_with = "log")]
    pub log: LogMode,
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
            hint_ns: 0,
            hint_repeats: 1,
            lock: LockKind::Ttas,
            elision: Elision::Off,
            elision_retries: 3,
            spin_limit: 2048,
            padding: 64,
            data_cache: DataCacheKind::OneLock,
            cache_partitions: 64,
            cache_share: 100,
            pages: PageMode::Small,
            system_cache: DataCacheKind::OneLock,
            index: IndexChoice::Sharded,
            cc: CcChoice::RowLock,
            store: Store::Pages,
            hash_cache: false,
            log: LogMode::None,
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
    Tpcc(Tpcc),
    TradeDesk(TradeDesk),
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
            Some("tpcc") => serde_json::from_value(fields).map(Self::Tpcc),
            Some("trade-desk") => serde_json::from_value(fields).map(Self::TradeDesk),
            Some("aggregate") => serde_json::from_value(fields).map(Self::Aggregate),
            _ => {
                let known = "ycsb, tpcc, trade-desk, aggregate";
                return Err(D::Error::custom(format!("{kind} is not one of: {known}")));
            }
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

/// How many rows a warehouse of `tpcc` has.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TpccScale {
    #[default]
    Standard,
    Small,
}

/// How `tpcc` chooses the next transaction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TpccSelection {
    Deck,
    Weighted,
}

/// Which warehouse a transaction of `tpcc` comes from.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TpccHome {
    Fixed,
    Drawn,
}

/// The workload `tpcc`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tpcc {
    pub warehouses: u16,
    pub scale: TpccScale,
    pub selection: TpccSelection,
    pub home: TpccHome,
    pub waits: bool,
    pub transactions: usize,
}

impl Default for Tpcc {
    fn default() -> Self {
        Self {
            warehouses: 2,
            scale: TpccScale::Standard,
            selection: TpccSelection::Deck,
            home: TpccHome::Fixed,
            waits: false,
            transactions: 0,
        }
    }
}

/// The workload `trade-desk`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TradeDesk {
    pub users: u16,
    pub accounts: u32,
    pub instruments: u16,
    pub theta: f64,
    pub catalogue_share: f64,
    pub report_share: f64,
    pub report_rows: usize,
    pub trade_think_ms: u64,
    pub request_think_ms: u64,
    pub transactions: usize,
}

impl Default for TradeDesk {
    fn default() -> Self {
        Self {
            users: 800,
            accounts: 10_000,
            instruments: 50,
            theta: 0.5,
            catalogue_share: 0.3,
            report_share: 0.0,
            report_rows: 1000,
            trade_think_ms: 0,
            request_think_ms: 0,
            transactions: 0,
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

/// The request of `census` for whole files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyRequest {
    pub paths: Vec<std::path::PathBuf>,
    #[serde(default = "default_sites")]
    pub sites: bool,
}

fn default_sites() -> bool {
    true
}

/// A command that is run to its end, again and again.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JobRequest {
    pub program: PathBuf,
    pub words: Vec<String>,
    pub directory: Option<PathBuf>,
    pub before: Vec<String>,
    pub prepare: Vec<String>,
    pub cleanup: Vec<String>,
    pub empty: PathBuf,
    pub empties: usize,
    pub keep_output: bool,
    pub any_code: bool,
    pub patience_ms: u64,
    pub warmup_ms: u64,
    pub window_ms: u64,
    pub server_pid: Option<u32>,
    pub beside_pids: Vec<u32>,
}

impl Default for JobRequest {
    fn default() -> Self {
        Self {
            program: PathBuf::new(),
            words: Vec::new(),
            directory: None,
            before: Vec::new(),
            prepare: Vec::new(),
            cleanup: Vec::new(),
            empty: PathBuf::new(),
            empties: 0,
            keep_output: false,
            any_code: false,
            patience_ms: 600_000,
            warmup_ms: 0,
            window_ms: 500,
            server_pid: None,
            beside_pids: Vec::new(),
        }
    }
}
