//! The request of `serve`.

use serde::Deserialize;

use super::LoadProtocol;

/// Servers of our own, on loopback.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeRequest {
    pub kind: ServeKind,
    /// What a stand-in speaks: `mysql` or `postgresql`.
    #[serde(default)]
    pub protocol: Option<LoadProtocol>,
    /// Ports to listen on; 0 takes a free one.
    #[serde(default = "any_port")]
    pub ports: Vec<u16>,
    /// Bytes of the file, or of the answer to a command.
    #[serde(default = "default_bytes")]
    pub bytes: usize,
    /// Where a proxy passes requests on to, as HOST:PORT.
    #[serde(default)]
    pub upstreams: Vec<String>,
    /// No answers for so long in each period.
    #[serde(default)]
    pub stall_ms: u64,
    #[serde(default = "default_period_ms")]
    pub period_ms: u64,
}

/// Which server.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ServeKind {
    HttpFile,
    HttpProxy,
    Resp,
    Memcached,
    /// A stand-in for an SQL server: answers TPC-C's terminals, without data.
    Tpcc,
}

fn any_port() -> Vec<u16> {
    vec![0]
}

fn default_bytes() -> usize {
    512
}

fn default_period_ms() -> u64 {
    1000
}
