//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_workload::Mix;
use clap::Parser;

use crate::contestants::{self, Contestant};
use crate::host;
use crate::peer::Shape;
use crate::race::Rules;
use crate::tpcc;
use crate::turn::Times;

/// Races the embedded engine against other stores; JSON lines on stdout.
#[derive(Debug, Parser)]
pub struct Options {
    /// Only check that every contestant is correct
    #[arg(long)]
    pub check: bool,
    /// Only these contestants (names, with commas)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Records of 100 bytes (one field); 0 for no such race
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Records of 1000 bytes (ten fields); 0 for no such race
    #[arg(long, default_value_t = 200_000)]
    keys_large: u64,
    /// YCSB mixes
    #[arg(long, value_delimiter = ',', default_value = "a,b,c")]
    mixes: Vec<String>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Undisturbed rounds of everything
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Rounds tried at most, as a multiple of the rounds wanted
    #[arg(long, default_value_t = 2)]
    patience: usize,
    /// Foreign CPU, in cores, above which a round is repeated
    #[arg(long, default_value_t = 0.03)]
    foreign_limit: f64,
    /// Milliseconds of a turn
    #[arg(long, default_value_t = 50)]
    turn_ms: u64,
    /// Milliseconds of running before the clock does
    #[arg(long, default_value_t = 20)]
    warm_up_ms: u64,
    /// No TPC-C
    #[arg(long)]
    pub skip_tpcc: bool,
    /// Warehouses of TPC-C
    #[arg(long, default_value_t = 2)]
    warehouses: u16,
    /// Milliseconds of a turn of TPC-C
    #[arg(long, default_value_t = 300)]
    tpcc_turn_ms: u64,
    /// A small database, which is not TPC-C's
    #[arg(long)]
    tpcc_small: bool,
    /// The seed of all inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// A folder in memory for the stores that want files
    #[arg(long, default_value = "/dev/shm")]
    pub scratch: PathBuf,
}

impl Options {
    /// Those who race.
    pub fn contestants(&self) -> Result<Vec<Contestant>> {
        let all = contestants::all();
        let names: Vec<&str> = all.iter().map(|contestant| contestant.name).collect();
        if let Some(name) = self.only.iter().find(|name| !names.contains(&name.as_str())) {
            bail!("--only {name}: there is {}", names.join(", "));
        }
        let is_asked = |name| self.only.is_empty() || self.only.iter().any(|only| only == name);
        Ok(all.into_iter().filter(|contestant| is_asked(contestant.name)).collect())
    }

    /// The sizes of records.
    pub fn shapes(&self) -> Vec<Shape> {
        [(self.keys, 1), (self.keys_large, 10)]
            .into_iter()
            .filter(|(records, _)| *records > 0)
            .map(|(records, fields)| Shape { records, fields, field_bytes: 100 })
            .collect()
    }

    /// The mixes.
    pub fn mixes(&self) -> Result<Vec<Mix>> {
        let known = [Mix::A, Mix::B, Mix::C];
        let mix = |name: &String| {
            let found = known.into_iter().find(|mix| mix.name() == name);
            found.with_context(|| format!("--mixes {name}: there is a, b, c"))
        };
        self.mixes.iter().map(mix).collect()
    }

    /// How often and how long.
    pub fn rules(&self) -> Result<Rules> {
        if self.rounds == 0 || self.patience == 0 || self.threads.contains(&0) {
            bail!("--rounds, --patience and --threads start at 1");
        }
        let warm_up = Duration::from_millis(self.warm_up_ms);
        Ok(Rules {
            rounds: self.rounds,
            patience: self.patience,
            foreign_limit: self.foreign_limit,
            times: Times { warm_up, timed: Duration::from_millis(self.turn_ms) },
            threads: self.threads.clone(),
            cpus: host::cpus()?,
            seed: self.seed,
        })
    }

    /// What TPC-C is run on.
    pub fn tpcc(&self) -> tpcc::Size {
        let turn = Duration::from_millis(self.tpcc_turn_ms);
        tpcc::Size { warehouses: self.warehouses, is_small: self.tpcc_small, turn }
    }
}
