//! `race-engine`: the embedded engine and other stores over the same inputs, in turns.
//!
//! stdout has JSON lines. First one per contestant, `{"contestant", "class", "settings"}`, then one
//! per turn:
//!
//! | field | meaning |
//! |---|---|
//! | `round` | turns with the same number, workload, threads and sizes belong together |
//! | `peer` | the contestant |
//! | `workload` | the YCSB mix `a`, `b` or `c`, or `tpcc` |
//! | `threads` | threads of the round; a contestant that cannot have so many used fewer |
//! | `value_bytes` | bytes of a record; 0 for TPC-C |
//! | `operations`, `seconds` | what was done, and how long the slowest thread took |
//! | `foreign_cpu` | cores that other processes had during the round |
//! | `calibrator` | millions of dependent multiplications a second at its start |
//!
//! What runs against what, and how each is set up, is in README.md; benchmarks/engine.py reads the
//! lines and decides.

mod batched;
mod check;
mod contestants;
mod engine;
mod host;
mod inputs;
mod options;
mod peer;
mod peers;
mod race;
mod scratch;
mod seq_rows;
mod sqlite_memory;
mod stripes;
#[cfg(test)]
mod tests;
mod tpcc;
mod turn;

use std::io::Write;

use anyhow::Result;
use clap::Parser;
use serde_json::json;

use crate::options::Options;

fn main() -> Result<()> {
    let options = Options::parse();
    host::forbid_huge_pages()?;
    let contestants = options.contestants()?;
    let is_racing = |name| contestants.iter().any(|contestant| contestant.name == name);
    let entries: Vec<_> =
        tpcc::entries().into_iter().filter(|entry| is_racing(entry.name)).collect();
    for contestant in &contestants {
        for shape in options.shapes() {
            check::check(contestant, shape, &options.scratch)?;
        }
    }
    if !options.skip_tpcc {
        tpcc::check(&entries, options.seed)?;
    }
    if options.check {
        return Ok(());
    }
    let rules = options.rules()?;
    let mut output = std::io::stdout().lock();
    for contestant in &contestants {
        let (name, class) = (contestant.name, contestant.class.name());
        let line = json!({"contestant": name, "class": class, "settings": contestant.settings});
        writeln!(output, "{line}")?;
    }
    let mixes = options.mixes()?;
    for shape in options.shapes() {
        race::ycsb(&contestants, shape, &mixes, &rules, &options.scratch, &mut output)?;
    }
    if options.skip_tpcc {
        return Ok(());
    }
    tpcc::race(&entries, &options.tpcc(), &rules, &mut output)
}
