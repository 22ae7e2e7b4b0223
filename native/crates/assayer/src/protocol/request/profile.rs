//! The request of `profile`.

use serde::Deserialize;

/// Samples of where a process' threads are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRequest {
    /// The first process of a tree.
    pub pid: u32,
    /// Samples a second of each thread's CPU time.
    #[serde(default = "default_hz")]
    pub hz: u32,
    /// By cycles of the processor where it counts them; else by the kernel's timer.
    #[serde(default)]
    pub hardware: bool,
    #[serde(default)]
    pub check_only: bool,
}

/// No divisor of anything that happens a round number of times a second.
fn default_hz() -> u32 {
    199
}
