//! How long, how many, where: what every measurement is asked.

use std::path::PathBuf;

use assay_sampler::process;
use serde::Deserialize;

use crate::{MeasureError, Result};

const THREADS_MAX: usize = 1024;
/// A day: keeps every product of times and rates inside 64 bits.
const TIME_MS_MAX: u64 = 86_400_000;
const SLICES_MAX: usize = 100_000;

/// Arms take turns: this process measures in slices of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slices {
    /// A file of 4096 zero bytes that the processes of all arms share.
    pub board: PathBuf,
    /// Which arm this process is.
    pub arm: u32,
    /// The arm of each slice.
    pub order: Vec<u32>,
    /// How long a slice is.
    #[serde(default = "default_slice_us")]
    pub slice_us: u64,
    /// How much of its beginning does not count.
    #[serde(default = "default_lead_us")]
    pub lead_us: u64,
    /// The first process of the server, to be stopped while others have the turn.
    #[serde(default)]
    pub freeze_pid: Option<u32>,
    /// How long a loop of this process says between slices how fast the machine is; 0: there is none.
    #[serde(default)]
    pub calibrate_us: u64,
    /// How long to wait for others, and for answers to requests of a slice.
    #[serde(default = "default_slices_patience_s")]
    pub patience_s: u64,
}

fn default_slice_us() -> u64 {
    100_000
}

fn default_lead_us() -> u64 {
    5000
}

fn default_slices_patience_s() -> u64 {
    60
}

impl Slices {
    /// How many arms there are.
    pub fn arms(&self) -> u32 {
        self.order.iter().max().map_or(0, |most| most + 1)
    }

    /// How many slices this arm has.
    pub fn own(&self) -> usize {
        self.order.iter().filter(|arm| **arm == self.arm).count()
    }
}

/// What all that measure are asked, beside what they measure.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub slices: Option<Slices>,
    pub threads: usize,
    pub pin: bool,
    pub seed: u64,
    pub warmup_ms: u64,
    pub window_ms: u64,
    pub interval_ms: u64,
}

impl Schedule {
    /// Refuses what cannot be run.
    pub fn validate(&self) -> Result<()> {
        let ranges = [
            ("threads", self.threads as u64, 1, THREADS_MAX as u64),
            ("warmup_ms", self.warmup_ms, 0, TIME_MS_MAX),
            ("window_ms", self.window_ms, 1, TIME_MS_MAX),
            ("interval_ms", self.interval_ms, 1, TIME_MS_MAX),
        ];
        for (name, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                let message = format!("{name} is {value}: must be from {low} to {high}");
                return Err(MeasureError::Usage(message).into());
            }
        }
        self.slices.as_ref().map_or(Ok(()), Slices::validate)
    }

    /// The CPU of each worker: thread i on the i-th allowed one, over again when they run out.
    pub fn cpus(&self) -> Vec<Option<usize>> {
        let allowed = process::allowed_cpus();
        let cpu = |thread: usize| {
            let place = thread.checked_rem(allowed.len())?;
            self.pin.then(|| allowed[place])
        };
        (0..self.threads).map(cpu).collect()
    }
}

impl Slices {
    fn validate(&self) -> Result<()> {
        let (arms, slices) = (self.arms(), self.order.len());
        let message = if slices == 0 || slices > SLICES_MAX {
            format!("slices.order has {slices} slices: must be from 1 to {SLICES_MAX}")
        } else if !(0..arms).all(|arm| self.order.contains(&arm)) {
            format!("slices.order must hold every arm from 0 to {}", arms - 1)
        } else if self.arm >= arms {
            format!("slices.arm is {}: slices.order goes to {}", self.arm, arms - 1)
        } else if !(1000..=TIME_MS_MAX * 1000).contains(&self.slice_us) {
            format!("slices.slice_us is {}: must be at least 1000", self.slice_us)
        } else if self.lead_us >= self.slice_us {
            format!("slices.lead_us is {}: must be below slice_us", self.lead_us)
        } else if self.calibrate_us > 0 && arms > 1 {
            "slices.calibrate_us is for an arm that is alone".to_owned()
        } else if self.calibrate_us > TIME_MS_MAX {
            format!("slices.calibrate_us is {}: must be at most {TIME_MS_MAX}", self.calibrate_us)
        } else {
            return Ok(());
        };
        Err(MeasureError::Usage(message).into())
    }
}
