//! One aggregation over a column, again and again, by the chosen kind of plan.
//!
//! The answers are known without any plan: SUM(column + k) = SUM(column) + k * rows. Every answer
//! of every query is compared with that.

use core::sync::atomic::{AtomicU64, Ordering};

use assay_disasm::census;
use assay_plans::{COLUMN_OF_SUMS, Code, Plan, Query, Table, compile, hits_like};
use assay_primitives::Clock;
use assay_workload::stream::Extras;

use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{Aggregate, EngineRequest};
use crate::protocol::response::{AggregateManifest, Made, Ran, State};
use crate::verbs::run::{Ending, Run, Subject, ran};
use assay_measure::Measured;
use assay_measure::{Counts, Done, Timed, Unit};

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
    let run = Run::begin("engine", &schedule, request.check_only, output)?;
    let rows = if request.check_only { 1 } else { workload.rows };
    let table = hits_like(schedule.seed, rows);
    let query = Query::sums(COLUMN_OF_SUMS, workload.sums);
    let plan = compile(parts.plan, parts.rewrite, &query, table.schema())
        .map_err(|error| Failure::usage(format!("the query cannot be compiled: {error}")))?;
    let expected = expected(&table, workload.sums);
    let wrong = AtomicU64::new(0);
    run.measure(Queries { request, clock: run.clock, plan, table, expected, wrong }, output)
}

struct Queries<'a> {
    request: &'a EngineRequest,
    clock: Clock,
    plan: Box<dyn Plan>,
    table: Table,
    expected: Vec<i64>,
    wrong: AtomicU64,
}

impl Subject for Queries<'_> {
    type Manifest = AggregateManifest;

    fn kinds(&self) -> Vec<&'static str> {
        vec!["query"]
    }

    fn timed(&self) -> Option<Timed> {
        Some(Timed::default())
    }

    fn unit(&self, _: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        let extras = Extras::every(self.request.parts.repeat_every);
        Ok(Box::new(QueryUnit { all: self, extras, queries: 0 }))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<AggregateManifest, Failure> {
        let parts = &self.request.parts;
        Ok(AggregateManifest {
            plan: parts.plan.name(),
            rewrite: parts.rewrite.name(),
            repeat_every: parts.repeat_every,
            placed: run.placed(),
            load_s: run.since_s(),
            rows: self.table.rows(),
            compile_ms: self.plan.compile_time().as_secs_f64() * 1e3,
        })
    }

    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        let state = State::of(self.table.rows() as u64, *self.wrong.get_mut() == 0);
        let ran = vec![ran_plan(&*self.plan, measured.counts.executed)];
        Ok(Ending { ran, ..Ending::of(state) })
    }
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

struct QueryUnit<'a> {
    all: &'a Queries<'a>,
    extras: Extras,
    queries: u64,
}

impl Unit for QueryUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        let Queries { clock, plan, table, expected, wrong, .. } = self.all;
        let is_error = plan.run(table) != *expected;
        let end_ticks = clock.ticks();
        self.queries += 1;
        if is_error {
            wrong.fetch_add(1, Ordering::Relaxed);
        }
        let is_extra = self.extras.is_extra();
        done.push(Done { is_error, is_extra, ..Done::at(end_ticks) });
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { executed: self.queries, ..Counts::default() }
    }
}
