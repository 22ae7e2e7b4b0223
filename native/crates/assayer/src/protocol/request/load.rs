//! The request of `load`.

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    Schedule, default_interval_ms, default_pin, default_seed, default_threads, default_warmup_ms,
    default_window_ms,
};

with_schedule! {
    /// The request of `load`.
    pub struct LoadRequest {
        pub target: LoadTarget,
        pub workload: LoadWorkload,
        #[serde(default)]
        pub action: LoadAction,
        #[serde(default = "default_connections")]
        pub connections: usize,
        #[serde(default)]
        pub rate: Option<LoadRate>,
        #[serde(default = "default_patience_s")]
        pub patience_s: u64,
        /// The server's first process, if it runs here: its work is then told from others'.
        #[serde(default)]
        pub server_pid: Option<u32>,
        /// Processes that work for the run and are neither server nor client.
        #[serde(default)]
        pub beside_pids: Vec<u32>,
        /// The best that the kernel has, if none is named.
        #[serde(default)]
        pub backend: Option<LoadBackend>,
    }
}

/// The kernel's interface that the client's loop uses.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LoadBackend {
    Epoll,
    IoUring,
}

fn default_connections() -> usize {
    1
}

fn default_patience_s() -> u64 {
    60
}

/// A server, and as whom.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTarget {
    pub protocol: LoadProtocol,
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub port: u16,
    /// A Unix socket, instead of host and port.
    #[serde(default)]
    pub socket: Option<String>,
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub password: Option<String>,
    #[serde(default)]
    pub database: String,
    #[serde(default)]
    pub sslmode: LoadSslMode,
    /// A PEM file of the authorities to trust, instead of the system's.
    #[serde(default)]
    pub sslrootcert: Option<PathBuf>,
}

/// Whether TLS is spoken, and what the server has to prove; by PostgreSQL's names.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LoadSslMode {
    /// Without TLS.
    #[default]
    Disable,
    /// With it where the server has it; nothing is proven.
    Prefer,
    /// With it; nothing is proven.
    Require,
    /// A certificate of a trusted authority.
    VerifyCa,
    /// A certificate of a trusted authority for the server's own name.
    VerifyFull,
}

/// What the server speaks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LoadProtocol {
    Mysql,
    Postgresql,
    Redis,
    Memcached,
    Http,
}

/// An open loop.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRate {
    pub per_s: f64,
    #[serde(default)]
    pub spacing: LoadSpacing,
}

/// How intended times follow each other.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadSpacing {
    #[default]
    Even,
    Poisson,
}

/// What is asked of the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadWorkload {
    HttpGet {
        #[serde(default = "default_path")]
        path: String,
    },
    RedisGet(KeyValue),
    RedisSet(KeyValue),
    MemcachedGet(KeyValue),
    MemcachedSet(KeyValue),
    OltpPointSelect(Oltp),
    OltpReadOnly(Oltp),
    OltpReadWrite(Oltp),
    OltpUpdateIndex(Oltp),
    OltpUpdateNonIndex(Oltp),
    Ycsb(super::Ycsb),
    Tpcc(LoadTpcc),
    TradeDesk(LoadTradeDesk),
    Hits(LoadHits),
    Aggregate(LoadAggregate),
    HitsUpload(LoadHitsUpload),
    Script(LoadScript),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum LoadAction {
    /// Put load on.
    #[default]
    Run,
    /// Make the data.
    Prepare,
    /// Say what is wrong with the data after a run.
    Check,
    /// Take the data away.
    Clean,
}

/// Tables of sysbench's OLTP tests.
#[derive(Clone, Debug, Deserialize)]
pub struct Oltp {
    #[serde(default = "one")]
    pub tables: u32,
    #[serde(default = "default_table_size")]
    pub table_size: u32,
    #[serde(default = "default_distribution")]
    pub distribution: String,
    #[serde(default)]
    pub skip_trx: bool,
}

/// TPC-C. Without waits terminals are connections; with waits there are ten a warehouse.
#[derive(Clone, Debug, Deserialize)]
pub struct LoadTpcc {
    #[serde(default = "default_warehouses")]
    pub warehouses: u16,
    #[serde(default)]
    pub scale: super::TpccScale,
    #[serde(default)]
    pub waits: bool,
    /// Waits are so many times those of the specification.
    #[serde(default = "unscaled")]
    pub wait_scale: f64,
}

fn unscaled() -> f64 {
    1.0
}

/// The trade-desk. Users are connections. What is named as for `engine` means the same and has the
/// same defaults; temporary tables are real ones. Reports are the embedded engine's alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadTradeDesk {
    pub accounts: u32,
    pub instruments: u16,
    pub theta: f64,
    /// The dial of contention on the catalogue.
    pub catalogue_share: f64,
    pub trade_think_ms: u64,
    pub request_think_ms: u64,
}

impl Default for LoadTradeDesk {
    fn default() -> Self {
        let super::TradeDesk {
            accounts,
            instruments,
            theta,
            catalogue_share,
            trade_think_ms,
            request_think_ms,
            ..
        } = super::TradeDesk::default();
        Self { accounts, instruments, theta, catalogue_share, trade_think_ms, request_think_ms }
    }
}

/// Queries over the table of page views.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadHits {
    pub rows: u64,
    /// All in order, or one by its name.
    pub query: String,
    /// Somebody's own table, queries and rows instead.
    pub checkout: Option<LoadHitsCheckout>,
}

impl Default for LoadHits {
    fn default() -> Self {
        Self { rows: default_hits_rows(), query: "all".to_owned(), checkout: None }
    }
}

/// Files of a benchmark over a table `hits`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadHitsCheckout {
    pub create: PathBuf,
    pub queries: PathBuf,
    pub data: PathBuf,
}

/// One query of many sums over the same table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadAggregate {
    pub rows: u64,
    pub sums: usize,
}

impl Default for LoadAggregate {
    fn default() -> Self {
        Self { rows: default_hits_rows(), sums: 90 }
    }
}

/// Rows of the same table, into an empty one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoadHitsUpload {
    pub rows: u64,
    pub rows_per_batch: u64,
}

impl Default for LoadHitsUpload {
    fn default() -> Self {
        Self { rows: default_hits_rows(), rows_per_batch: 1_000 }
    }
}

/// Scripts of a user's own, of which each operation is one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadScript {
    pub scripts: Vec<LoadScriptText>,
    /// Variables that have a value from the start.
    #[serde(default)]
    pub given: std::collections::BTreeMap<String, i64>,
    /// What makes the data, in the same syntax, for the action `prepare`.
    #[serde(default)]
    pub prepare: String,
}

/// One of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadScriptText {
    pub name: String,
    #[serde(default = "one")]
    pub weight: u32,
    pub text: String,
}

fn one() -> u32 {
    1
}

fn default_table_size() -> u32 {
    10_000
}

/// The default of sysbench 1.0.20.
fn default_distribution() -> String {
    "special".to_owned()
}

fn default_warehouses() -> u16 {
    1
}

/// Keys and values of single commands.
#[derive(Clone, Debug, Deserialize)]
pub struct KeyValue {
    #[serde(default = "default_keys")]
    pub keys: u64,
    #[serde(default = "default_value_bytes")]
    pub value_bytes: usize,
    #[serde(default = "default_pipeline")]
    pub pipeline: u32,
}

fn default_path() -> String {
    "/".to_owned()
}

fn default_keys() -> u64 {
    1
}

fn default_value_bytes() -> usize {
    3
}

fn default_pipeline() -> u32 {
    1
}

/// The request of `hits`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HitsRequest {
    #[serde(default = "default_hits_rows")]
    pub rows: u64,
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The file; without it only the statements are said.
    #[serde(default)]
    pub to: Option<PathBuf>,
}

fn default_hits_rows() -> u64 {
    100_000
}

/// The request of `ask`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    pub target: LoadTarget,
    pub asks: Vec<String>,
    #[serde(default = "default_patience_s")]
    pub patience_s: u64,
}
