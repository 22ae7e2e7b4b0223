//! What a measurement tells while it goes on. The meaning of each field is in `assayer`'s protocol.

use serde::Serialize;

use crate::Result;

/// Who is told.
pub trait Listener {
    /// What begins now.
    fn phase(&mut self, name: &'static str) -> Result<()>;

    /// A stretch of the window is over.
    fn interval(&mut self, interval: &Interval<'_>) -> Result<()>;
}

/// One stretch of the window, with its histogram; or one slice, which has none of its own.
#[derive(Serialize)]
pub struct Interval<'a> {
    pub index: usize,
    pub start_ms: f64,
    pub length_ms: f64,
    pub operations: u64,
    pub errors: u64,
    pub histogram: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceUse>,
}

/// What the host spent on a slice.
#[derive(Clone, Serialize)]
pub struct SliceUse {
    pub turn: usize,
    pub early: Vec<u64>,
    pub server_cpu_s: Option<f64>,
    pub rest_s: Option<f64>,
    pub rest_cpu_s: Option<f64>,
    pub calibration: Option<f64>,
    pub foreign_cpu_s: f64,
    pub steal_s: f64,
    pub drain_ms: f64,
}

/// Whether what was measured can be trusted; shares are fractions, CPUs are CPUs' worth.
#[derive(Clone, Copy, Serialize)]
pub struct Health {
    pub loader: &'static str,
    pub busiest_thread: Option<f64>,
    pub late_sends: Option<f64>,
    pub asked_per_s: Option<f64>,
    pub achieved_per_s: f64,
    pub server_idle: f64,
    pub foreign_cpu: f64,
    pub steal: f64,
    pub clock_step_ms: f64,
}
