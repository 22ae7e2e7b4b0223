//! Rounds: in each, every contestant takes one turn at one cell (sizes, mix, threads).
//!
//! The cells take turns too, so that a slow drift of the machine meets all of them alike, and the
//! order inside a round is drawn anew each time. A round that others disturbed is printed like any
//! other and repeated; whoever reads the lines leaves it out by its `foreign_cpu`.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use assay_workload::Mix;
use assay_workload::random::Random;
use serde_json::json;

use crate::contestants::Contestant;
use crate::host::{self, Watch};
use crate::inputs::{Draw, Inputs};
use crate::peer::{Peer, Setup, Shape};
use crate::scratch::Scratch;
use crate::turn::{self, Times, Turn};

/// How often, how long, how undisturbed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Undisturbed rounds wanted of each cell.
    pub rounds: usize,
    /// Rounds tried at most, as a multiple of `rounds`.
    pub patience: usize,
    /// The most foreign CPU of an undisturbed round, in cores.
    pub foreign_limit: f64,
    /// A turn.
    pub times: Times,
    /// The threads of a race.
    pub threads: Vec<usize>,
    /// The CPUs that threads are pinned to.
    pub cpus: Vec<usize>,
    /// The seed of inputs and orders.
    pub seed: u64,
}

impl Rules {
    /// The most threads of any race.
    pub fn threads_max(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }
}

/// What one round is about.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The name of the mix, or of the workload.
    pub workload: &'static str,
    /// Threads.
    pub threads: usize,
    /// Bytes of a record; zero where records differ.
    pub value_bytes: usize,
}

/// Somebody who takes turns.
pub trait Runner {
    /// The name used in results.
    fn name(&self) -> &'static str;
    /// Takes a turn in round `round` of the cell with number `cell`.
    fn turn(&mut self, cell: usize, round: usize) -> Result<Turn>;
}

/// Runs all rounds of all cells, and writes a JSON line per turn.
pub fn rounds(
    cells: &[Cell],
    runners: &mut [Box<dyn Runner + '_>],
    rules: &Rules,
    output: &mut dyn Write,
) -> Result<()> {
    let mut random = Random::new(rules.seed, 0x726F_756E_6473);
    let mut good = vec![0; cells.len()];
    for round in 0..rules.rounds * rules.patience {
        for (number, cell) in cells.iter().enumerate() {
            if good[number] < rules.rounds {
                let foreign_cpu = one(cell, number, round, runners, &mut random, output)?;
                good[number] += usize::from(foreign_cpu <= rules.foreign_limit);
            }
        }
    }
    Ok(())
}

/// One round of one cell; returns the foreign CPU.
fn one(
    cell: &Cell,
    number: usize,
    round: usize,
    runners: &mut [Box<dyn Runner + '_>],
    random: &mut Random,
    output: &mut dyn Write,
) -> Result<f64> {
    let mut order: Vec<usize> = (0..runners.len()).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    let watch = Watch::start();
    let calibrator = host::calibrate();
    let mut turns = Vec::new();
    for runner in order {
        let turn = runners[runner].turn(number, round)?;
        turns.push((runners[runner].name(), turn));
    }
    let foreign_cpu = watch.foreign_cpu();
    for (peer, Turn { operations, seconds }) in turns {
        let line = json!({
            "round": round, "peer": peer, "workload": cell.workload, "threads": cell.threads,
            "value_bytes": cell.value_bytes, "operations": operations, "seconds": seconds,
            "foreign_cpu": foreign_cpu, "calibrator": calibrator,
        });
        writeln!(output, "{line}")?;
    }
    output.flush()?;
    Ok(foreign_cpu)
}

/// A loaded store and the inputs of every cell.
struct YcsbRunner<'a> {
    contestant: Contestant,
    peer: Box<dyn Peer>,
    cells: &'a [Cell],
    inputs: &'a [Inputs],
    rules: &'a Rules,
    // Dropped after the store, which may still write while it closes.
    _scratch: Scratch,
}

impl Runner for YcsbRunner<'_> {
    fn name(&self) -> &'static str {
        self.contestant.name
    }

    fn turn(&mut self, cell: usize, round: usize) -> Result<Turn> {
        let (peer, inputs) = (self.peer.as_ref(), &self.inputs[cell / self.rules.threads.len()]);
        let threads = self.cells[cell].threads.min(self.contestant.threads_max);
        // Every round has a stretch of the lists to itself, the same for all contestants.
        let first = round * 1009;
        let turn = turn::take(peer, inputs, threads, &self.rules.cpus, first, self.rules.times)?;
        if self.contestant.has_background {
            host::settle();
        }
        Ok(turn)
    }
}

/// Operations drawn per thread and mix: more than the fastest does in a turn.
const OPERATIONS: usize = 1 << 20;

/// Races over one size of records.
pub fn ycsb(
    contestants: &[Contestant],
    shape: Shape,
    mixes: &[Mix],
    rules: &Rules,
    parent: &Path,
    output: &mut dyn Write,
) -> Result<()> {
    let draw = |&mix| {
        let (threads, seed) = (rules.threads_max(), rules.seed);
        Inputs::new(&Draw { shape, mix, threads, operations: OPERATIONS, seed })
    };
    let inputs: Vec<Inputs> = mixes.iter().map(draw).collect::<Result<_>>()?;
    let cells: Vec<Cell> = mixes
        .iter()
        .flat_map(|mix| rules.threads.iter().map(move |&threads| (mix.name(), threads)))
        .map(|(workload, threads)| Cell { workload, threads, value_bytes: shape.record_bytes() })
        .collect();
    let Some(first) = inputs.first() else { return Ok(()) };
    let mut runners: Vec<Box<dyn Runner + '_>> = Vec::new();
    for &contestant in contestants {
        let scratch = Scratch::new(parent)?;
        let peer = (contestant.open)(&Setup { shape, folder: scratch.path() })?;
        peer.load(&first.records())?;
        host::settle();
        runners.push(Box::new(YcsbRunner {
            contestant,
            peer,
            cells: &cells,
            inputs: &inputs,
            rules,
            _scratch: scratch,
        }));
    }
    rounds(&cells, &mut runners, rules, output)
}
