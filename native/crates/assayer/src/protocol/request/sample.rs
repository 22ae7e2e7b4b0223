//! The request of `sample`.

use std::path::PathBuf;

use serde::Deserialize;

/// Counters, read again and again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleRequest {
    /// The first process of a tree; without one only what is the host's is counted.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Readings a second.
    #[serde(default = "default_hz")]
    pub hz: u32,
    /// How long; without it until standard input ends.
    #[serde(default)]
    pub seconds: Option<f64>,
    #[serde(default)]
    pub groups: Vec<SampleGroup>,
    /// Sets of events that are scheduled together.
    #[serde(default)]
    pub pmu: Vec<Vec<SampleEvent>>,
    /// Instructions of files, whoever runs them.
    #[serde(default)]
    pub probes: Vec<SampleProbe>,
    #[serde(default)]
    pub check_only: bool,
}

/// What is read together.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SampleGroup {
    Cpu,
    Softirqs,
    Softnet,
    Vm,
    Psi,
    Energy,
    Process,
}

/// An event by its number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleEvent {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: u32,
    pub config: u64,
    #[serde(default)]
    pub exclude_kernel: bool,
}

/// A place in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleProbe {
    pub name: String,
    pub path: PathBuf,
    pub offset: u64,
}

fn default_hz() -> u32 {
    10
}
