//! One aggregation over a column, again and again, by the chosen kind of plan.
//!
//! The answers are known without any plan: SUM(column + k) = SUM(column) + k * rows. Every answer
//! of every query is compared with that.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use assay_disasm::census;
use assay_plans::{COLUMN_OF_SUMS, Code, Plan, Query, Table, compile, hits_like};
use assay_primitives::Clock;
use assay_workload::stream::Extras;

use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::measure::Measurement;
use crate::output::Output;
use crate::protocol::request::{Aggregate, EngineRequest};
use crate::protocol::response::{AggregateManifest, Checked, Made, Phase, Ran, Ready, State};
use crate::verbs::{Ending, clock_response, own_build_id, ran, result};

pub const ROWS_MAX: usize = 100_000_000;
const SUMS_MAX: usize = 1_000;

/// Runs the workload.
pub fn run(
    request: &EngineRequest,
    workload: &Aggregate,
    output: &mut Output,
) -> Result<(), Failure> {
    check("rows", workload.rows, ROWS_MAX)?;
    check("sums", workload.sums, SUMS_MAX)?;
    let (parts, schedule) = (&request.parts, request.schedule());
    let clock = Clock::calibrated();
    output.write("phase", &Phase { name: "load" })?;
    let started = Instant::now();
    let rows = if request.check_only { 1 } else { workload.rows };
    let table = hits_like(schedule.seed, rows);
    let query = Query::sums(COLUMN_OF_SUMS, workload.sums);
    let plan = compile(parts.plan, parts.rewrite, &query, table.schema())
        .map_err(|error| Failure::usage(format!("the query cannot be compiled: {error}")))?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let expected = expected(&table, workload.sums);
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &["query"],
        clock,
        server: None,
        beside: Vec::new(),
    };
    let wrong = AtomicU64::new(0);
    let make_unit = |_thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        Ok(Box::new(QueryUnit {
            plan: &*plan,
            table: &table,
            expected: &expected,
            clock,
            extras: Extras::every(parts.repeat_every),
            queries: 0,
            wrong: &wrong,
        }))
    };
    let ready = |output: &mut Output| {
        let manifest = manifest(request, rows, &*plan, &measurement, started);
        let build_id = own_build_id()?;
        let ready =
            Ready { verb: "engine", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let ending = Ending {
        latency_of: "operations",
        ran: vec![ran_plan(&*plan, measured.counts.executed)],
        memory: None,
        state: State::of(rows as u64, wrong.into_inner() == 0),
    };
    output.write("result", &result(&measurement, &measured, ending)?)
}

pub fn check(name: &str, value: usize, high: usize) -> Result<(), Failure> {
    if (1..=high).contains(&value) {
        return Ok(());
    }
    Err(Failure::usage(format!("workload.{name} is {value}: must be from 1 to {high}")))
}

pub fn expected(table: &Table, sums: usize) -> Vec<i64> {
    let place = table.schema().columns().iter().position(|(name, _)| name == COLUMN_OF_SUMS);
    let column = &table.columns()[place.unwrap_or_default()];
    let (rows, sum) = (table.rows(), (0..table.rows()).map(|row| column.value(row)).sum::<i64>());
    (0..sums).map(|k| sum + (k * rows) as i64).collect()
}

/// The function of a plan: one of this executable, or one that was compiled and is in no file.
pub fn ran_plan(plan: &dyn Plan, calls: u64) -> Ran {
    let Code { address, symbol, .. } = plan.code();
    let made = plan.machine_code().map(|code| {
        let (instructions, counts) = census::of_code(code, address.get() as u64);
        Made { symbol, instructions, counts }
    });
    Ran { made, ..ran("plan", address, calls) }
}

fn manifest(
    request: &EngineRequest,
    rows: usize,
    plan: &dyn Plan,
    measurement: &Measurement<'_>,
    started: Instant,
) -> AggregateManifest {
    let parts = &request.parts;
    AggregateManifest {
        plan: parts.plan.name(),
        rewrite: parts.rewrite.name(),
        repeat_every: parts.repeat_every,
        threads: measurement.cpus.len(),
        cpus: measurement.cpus.to_vec(),
        clock: clock_response(&measurement.clock),
        load_s: started.elapsed().as_secs_f64(),
        rows,
        compile_ms: plan.compile_time().as_secs_f64() * 1e3,
    }
}

struct QueryUnit<'a> {
    plan: &'a dyn Plan,
    table: &'a Table,
    expected: &'a [i64],
    clock: Clock,
    extras: Extras,
    queries: u64,
    wrong: &'a AtomicU64,
}

impl Unit for QueryUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        let is_error = self.plan.run(self.table) != self.expected;
        let end_ticks = self.clock.ticks();
        self.queries += 1;
        if is_error {
            self.wrong.fetch_add(1, Ordering::Relaxed);
        }
        let is_extra = self.extras.is_extra();
        done.push(Done {
            since: None,
            end_ticks,
            kind: 0,
            operations: 1,
            is_error,
            is_extra,
            sent: None,
        });
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts {
            contention: Vec::new(),
            lookups: Vec::new(),
            counters: Vec::new(),
            executed: self.queries,
        }
    }
}
