//! TPC-C: the same procedures, the same inputs, over SQLite in memory and over the engine.
//!
//! Not a TPC-C result: there are no terminals and no waits, so that the efficiency of at most
//! 12.86 tpmC per warehouse does not apply. A terminal is a thread and belongs to one warehouse, as
//! the specification has it. All five transactions count, New-Order's demanded rollbacks too.
//! Before the race the databases' rows are compared with those of the slow twin, after it the
//! consistency conditions of clause 3.3.2 must hold.

mod sqlite;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_workload::reference::ReferenceTables;
use assay_workload::tpcc::{
    Census, Input, Parameters, Plan, Scale, Stream, TABLES, check_after_running, run,
};

use crate::race::{Cell, Rules, Runner, rounds};
use crate::turn::{Gate, Turn, on_threads};

/// How large the database is, and how long a turn.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Warehouses.
    pub warehouses: u16,
    /// For tests: not TPC-C's scale.
    pub is_small: bool,
    /// A turn.
    pub turn: Duration,
}

/// A database that terminals work on.
pub trait Store: Sync {
    /// Terminals that it can serve at once.
    fn terminals_max(&self) -> usize;
    /// Runs `work` with a terminal of the calling thread.
    fn with_terminal(&self, work: &mut dyn FnMut(&mut dyn Terminal) -> Result<()>) -> Result<()>;
    /// Adds up what the consistency conditions need; nobody works meanwhile.
    fn census(&self) -> Result<Census>;
    /// Every row, for the twin's eyes.
    fn rows(&self) -> Result<ReferenceTables>;
}

/// One thread's way into the database.
pub trait Terminal {
    /// Runs a transaction to its end, however often that takes: committed, or rolled back as the
    /// input demands.
    fn run(&mut self, input: &Input) -> Result<()>;
}

fn plan(scale: Scale, seed: u64) -> Result<Plan> {
    let standard = Parameters::standard(scale.warehouses, seed);
    Ok(Plan::new(Parameters { scale, has_waits: false, ..standard })?)
}

/// A store that runs TPC-C; its settings are those of the contestant of the same name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name used in results.
    pub name: &'static str,
    /// Opens it with the plan's rows.
    pub open: fn(&Plan) -> Result<Box<dyn Store>>,
}

/// All that run TPC-C.
pub fn entries() -> Vec<Entry> {
    let mut found = crate::engine::tpcc_entries();
    found.push(Entry { name: "sqlite", open: sqlite::SqliteStore::open });
    found
}

/// Compares every store with the slow twin after the same transactions.
pub fn check(entries: &[Entry], seed: u64) -> Result<()> {
    const TRANSACTIONS: usize = 2000;
    let plan = plan(Scale::small(2), seed)?;
    let mut twin = ReferenceTables::new(&TABLES);
    load(&plan, |table, key, row| twin.load(table, key, row));
    let mut stream = plan.stream(0);
    let inputs: Vec<Input> = (0..TRANSACTIONS).map(|_| stream.take().input).collect();
    for input in &inputs {
        // A rollback is an outcome like any other; the rows will tell whether it was one.
        let _ = twin.transact(|tables| run(tables, input));
    }
    for &Entry { name, open } in entries {
        let store = open(&plan)?;
        store.with_terminal(&mut |terminal| {
            inputs.iter().try_for_each(|input| terminal.run(input))
        })?;
        let rows = store.rows()?;
        ensure!(rows == twin, "{name}: TPC-C ends with other rows than the twin's");
        consistent(name, store.as_ref())?;
    }
    Ok(())
}

/// Gives all rows to `sink`.
pub fn load(plan: &Plan, mut sink: impl FnMut(assay_workload::tables::TableId, u64, &[u8])) {
    plan.load_items(&mut sink);
    for warehouse in 1..=plan.parameters().scale.warehouses {
        plan.load_warehouse(warehouse, &mut sink);
    }
}

fn consistent(name: &str, store: &dyn Store) -> Result<()> {
    let violations = check_after_running(&store.census()?);
    let Some(first) = violations.first() else { return Ok(()) };
    bail!("{name}: {first} ({} violations)", violations.len())
}

/// Races all stores, in rounds like those of the mixes.
pub fn race(entries: &[Entry], size: &Size, rules: &Rules, output: &mut dyn Write) -> Result<()> {
    let scale = if size.is_small { Scale::small } else { Scale::standard };
    let plan = plan(scale(size.warehouses), rules.seed)?;
    let opened = |entry: &Entry| Ok((entry.name, (entry.open)(&plan)?));
    let stores = entries.iter().map(opened).collect::<Result<Vec<_>>>()?;
    let cells: Vec<Cell> = rules
        .threads
        .iter()
        .map(|&threads| Cell { workload: "tpcc", threads, value_bytes: 0 })
        .collect();
    let mut runners: Vec<Box<dyn Runner + '_>> = Vec::new();
    for (name, store) in &stores {
        let streams = (0..rules.threads_max()).map(|thread| plan.stream(thread)).collect();
        let (store, cells, turn) = (store.as_ref(), cells.as_slice(), size.turn);
        runners.push(Box::new(TpccRunner { name, store, streams, cells, rules, turn }));
    }
    rounds(&cells, &mut runners, rules, output)?;
    stores.iter().try_for_each(|(name, store)| consistent(name, store.as_ref()))
}

/// A store and the terminals' streams, which go on from turn to turn.
struct TpccRunner<'a> {
    name: &'static str,
    store: &'a dyn Store,
    streams: Vec<Stream>,
    cells: &'a [Cell],
    rules: &'a Rules,
    turn: Duration,
}

impl Runner for TpccRunner<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn turn(&mut self, cell: usize, _: usize) -> Result<Turn> {
        let threads = self.cells[cell].threads.min(self.store.terminals_max());
        let (store, warm_up, timed) = (self.store, self.rules.times.warm_up, self.turn);
        let streams: Vec<_> = self.streams.iter_mut().map(std::sync::Mutex::new).collect();
        on_threads(threads, &self.rules.cpus, |thread, gate| {
            let mut stream = streams[thread].lock().ok().context("a terminal panicked")?;
            work(store, &mut stream, gate, warm_up, timed)
        })
    }
}

fn work(
    store: &dyn Store,
    stream: &mut Stream,
    gate: &Gate,
    warm_up: Duration,
    timed: Duration,
) -> Result<Turn> {
    let mut found = None;
    store.with_terminal(&mut |terminal| {
        serve(terminal, stream, warm_up)?;
        gate.pass()?;
        found = Some(serve(terminal, stream, timed)?);
        Ok(())
    })?;
    found.context("the terminal did no work")
}

fn serve(terminal: &mut dyn Terminal, stream: &mut Stream, time: Duration) -> Result<Turn> {
    let (start, mut operations) = (Instant::now(), 0);
    loop {
        terminal.run(&stream.take().input)?;
        operations += 1;
        let elapsed = start.elapsed();
        if elapsed >= time {
            return Ok(Turn { operations, seconds: elapsed.as_secs_f64() });
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_store_ends_with_the_rows_of_the_twin() {
        super::check(&super::entries(), 7).unwrap();
    }
}
