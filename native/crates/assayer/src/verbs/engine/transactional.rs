//! Transactions: YCSB, TPC-C and the trade-desk over tables, on the chosen parts.

use std::sync::Arc;
use std::time::Duration;

use assay_engine::Elision;
use assay_engine::transactional::jobs::{Report, Tpcc, TradeDesk, Ycsb};
use assay_engine::transactional::{
    self, Built, CcChoice, IndexChoice, Job, Setting, TransactionalCounts, TransactionalParts,
    TransactionalSession,
};
use assay_plans::{COLUMN_OF_SUMS, Plan as QueryPlan, Query, compile, hits_like};
use assay_workload::{Plan, tpcc, trade_desk};

use super::aggregate;
use super::key_value::parameters;
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{self, EngineParts, EngineRequest, Schedule};
use crate::protocol::response::{Ran, State, TransactionalManifest, WaitingManifest};
use crate::verbs::run::{Ending, Run, Subject, ran};
use crate::verbs::{arena_memory, elision_counters, hint, waiting_manifest};
use assay_measure::Measured;
use assay_measure::{Counts, Done, Timed, Unit};

/// A guess above what one thread can do, to size what grows.
const TRANSACTIONS_PER_S: f64 = 100_000.0;
const ACTIONS_PER_S: f64 = 400_000.0;
const TRANSACTIONS_MIN: usize = 20_000;
/// A transaction's number has eight bits for the worker that made it; loaders, sessions and the
/// check have one each.
const THREADS_MAX: usize = 127;
/// Sums of a report.
const REPORT_SUMS: usize = 90;

/// YCSB, every operation a transaction.
pub fn ycsb(
    request: &EngineRequest,
    workload: &request::Ycsb,
    output: &mut Output,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let run = begin(request, &schedule, output)?;
    let plan = Plan::new(parameters(workload, request.schedule().seed))?;
    measure(request, &run, Ycsb::new(plan), Asked { has_waits: false, report: None }, output)
}

/// TPC-C.
pub fn tpcc(
    request: &EngineRequest,
    workload: &request::Tpcc,
    output: &mut Output,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let run = begin(request, &schedule, output)?;
    let parameters = tpcc::Parameters {
        scale: match workload.scale {
            request::TpccScale::Standard => tpcc::Scale::standard(workload.warehouses),
            request::TpccScale::Small => tpcc::Scale::small(workload.warehouses),
        },
        selection: match workload.selection {
            request::TpccSelection::Deck => tpcc::Selection::Deck,
            request::TpccSelection::Weighted => tpcc::Selection::Weighted,
        },
        home: match workload.home {
            request::TpccHome::Fixed => tpcc::Home::Fixed,
            request::TpccHome::Drawn => tpcc::Home::Drawn,
        },
        has_waits: workload.waits,
        seed: request.schedule().seed,
    };
    let room = transactions(request, workload.transactions, TRANSACTIONS_PER_S);
    let job = Tpcc::new(tpcc::Plan::new(parameters)?, room);
    measure(request, &run, job, Asked { has_waits: workload.waits, report: None }, output)
}

/// The trade-desk.
pub fn trade_desk(
    request: &EngineRequest,
    workload: &request::TradeDesk,
    output: &mut Output,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let run = begin(request, &schedule, output)?;
    let waits = [workload.trade_think_ms, workload.request_think_ms];
    let parameters = trade_desk::Parameters {
        users: workload.users,
        accounts: workload.accounts,
        instruments: workload.instruments,
        theta: workload.theta,
        catalogue_share: workload.catalogue_share,
        report_share: workload.report_share,
        trade_think_time: Duration::from_millis(waits[0]),
        request_think_time: Duration::from_millis(waits[1]),
        seed: request.schedule().seed,
    };
    let room = transactions(request, workload.transactions, ACTIONS_PER_S);
    let report = report(request, workload.report_rows)?;
    let plan = Arc::clone(&report.plan);
    let job = TradeDesk::new(trade_desk::Plan::new(parameters)?, room, report);
    let has_waits = waits != [0, 0];
    measure(request, &run, job, Asked { has_waits, report: Some(plan) }, output)
}

/// What differs from workload to workload.
struct Asked {
    has_waits: bool,
    report: Option<Arc<dyn QueryPlan>>,
}

fn begin<'a>(
    request: &EngineRequest,
    schedule: &'a Schedule,
    output: &mut Output,
) -> Result<Run<'a>, Failure> {
    if schedule.threads > THREADS_MAX {
        let threads = schedule.threads;
        let message = format!("threads is {threads}: transactions take from 1 to {THREADS_MAX}");
        return Err(Failure::usage(message));
    }
    Run::begin("engine", schedule, request.check_only, output)
}

/// How many transactions to make room for.
fn transactions(request: &EngineRequest, asked: usize, per_s: f64) -> usize {
    let schedule = request.schedule();
    let seconds = (schedule.warmup_ms + schedule.window_ms) as f64 / 1e3;
    let foreseen = seconds * per_s * schedule.threads as f64;
    if asked > 0 { asked } else { TRANSACTIONS_MIN + foreseen as usize }
}

fn report(request: &EngineRequest, rows: usize) -> Result<Report, Failure> {
    aggregate::check("report_rows", rows, aggregate::ROWS_MAX)?;
    let prices = hits_like(request.schedule().seed, rows);
    let query = Query::sums(COLUMN_OF_SUMS, REPORT_SUMS);
    let plan = compile(request.parts.plan, request.parts.rewrite, &query, prices.schema())
        .map_err(|error| Failure::usage(format!("the report cannot be compiled: {error}")))?;
    let answers = aggregate::expected(&prices, REPORT_SUMS);
    Ok(Report { plan: plan.into(), prices, answers })
}

fn parts(request: &EngineRequest) -> Result<TransactionalParts, Failure> {
    let parts = &request.parts;
    let (IndexChoice::Of(index), CcChoice::Of(cc)) = (parts.index, parts.cc) else {
        return Err(anyhow::anyhow!("a combination without transactions came this far").into());
    };
    Ok(TransactionalParts {
        hint: parts.hint,
        lock: parts.lock,
        elision: parts.elision,
        elision_retries: parts.elision_retries,
        spin_limit: parts.spin_limit,
        padding: parts.padding,
        pages: parts.pages,
        index,
        hash_cache: parts.hash_cache,
        cc,
        store: parts.store,
        data_cache: parts.data_cache,
        system_cache: parts.system_cache,
        cache_partitions: parts.cache_partitions,
        log: parts.log,
        repeat_every: parts.repeat_every,
    })
}

fn measure<J: Job + 'static>(
    request: &EngineRequest,
    run: &Run<'_>,
    job: J,
    asked: Asked,
    output: &mut Output,
) -> Result<(), Failure> {
    let (parts, threads) = (&request.parts, run.schedule.threads);
    let log_folder = &std::env::temp_dir();
    let setting = Setting { threads, has_waits: asked.has_waits, clock: run.clock, log_folder };
    let hint = hint::put_in_force(parts.hint, parts.hint_ns, parts.hint_repeats, &run.clock)?;
    let waiting = waiting_manifest!(parts, hint);
    let built = transactional::build(&self::parts(request)?, job, setting)?;
    run.measure(Transactions { parts, threads, waiting, built, asked, ahead: J::AHEAD }, output)
}

struct Transactions<'a> {
    parts: &'a EngineParts,
    threads: usize,
    waiting: WaitingManifest,
    built: Built,
    asked: Asked,
    /// Requests that a session carries out at a time.
    ahead: usize,
}

impl Subject for Transactions<'_> {
    type Manifest = TransactionalManifest;

    fn kinds(&self) -> Vec<&'static str> {
        self.built.engine.kinds().to_vec()
    }

    fn timed(&self) -> Option<Timed> {
        Some(Timed { ends: self.ahead, operations: 1 })
    }

    fn load(&self) -> Result<(), Failure> {
        Ok(self.built.engine.load(self.threads, life::stop_flag())?)
    }

    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        let session = self.built.engine.session(thread)?;
        let is_elided = self.parts.elision == Elision::On;
        Ok(Box::new(TransactionalUnit { session, is_elided }))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<TransactionalManifest, Failure> {
        let parts = self.parts;
        Ok(TransactionalManifest {
            waiting: self.waiting,
            index: parts.index.name(),
            hash_cache: if parts.hash_cache { "on" } else { "off" },
            cc: parts.cc.name(),
            store: parts.store.name(),
            data_cache: parts.data_cache.name(),
            system_cache: parts.system_cache.name(),
            cache_partitions: parts.cache_partitions,
            log: parts.log.name(),
            plan: parts.plan.name(),
            rewrite: parts.rewrite.name(),
            pages: parts.pages.name(),
            repeat_every: parts.repeat_every,
            memory: arena_memory(self.built.memory()?),
            placed: run.placed(),
            load_s: run.since_s(),
        })
    }

    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        let faults = self.built.engine.faults()?;
        Ok(Ending {
            ran: what_ran(&self.built, measured, &self.asked),
            memory: Some(self.built.memory()?),
            ..Ending::of(State { records: None, checksum_ok: faults.is_empty(), faults })
        })
    }
}

fn what_ran(built: &Built, measured: &Measured, asked: &Asked) -> Vec<Ran> {
    let counts = &measured.counts;
    // Rows and the log are waited for in other ways.
    let slow = counts.contention.iter().filter(|(class, _)| !["row", "log"].contains(class));
    let waits = slow.map(|(_, class)| class.waits).sum();
    let calls = |role: &str| number(&counts.lookups, role);
    let counted = |name: &str| number(&counts.counters, name);
    let mut all = vec![
        ran("lock_slow", built.lock_slow, waits),
        // What a hash cache answered did not reach the tree.
        ran(
            "index_find",
            built.index_find,
            calls("index").saturating_sub(counted("hash_cache.hits")),
        ),
        ran("cc", built.engine.cc(), counted("cc_calls")),
    ];
    if let Some(caches) = &built.caches {
        let roles = ["data_cache_lookup", "system_cache_lookup"].into_iter().zip(CACHES);
        for ((role, class), cache) in roles.zip(caches.rows().caches()) {
            if calls(class) > 0 {
                all.push(ran(role, cache.look_up_address(), calls(class)));
            }
        }
    }
    if let Some(plan) = &asked.report {
        all.push(aggregate::ran_plan(&**plan, reports(built, measured)));
    }
    all
}

fn number(numbers: &[(&'static str, u64)], name: &str) -> u64 {
    numbers.iter().find(|(other, _)| *other == name).map_or(0, |(_, number)| *number)
}

fn reports(built: &Built, measured: &Measured) -> u64 {
    let place = built.engine.kinds().iter().position(|kind| *kind == "report");
    place.map_or(0, |place| measured.recording.by_kind[place].len())
}

/// The classes of the named caches in results.
const CACHES: [&str; 2] = ["data_cache", "system_cache"];

/// A session as the driver sees it.
struct TransactionalUnit<'a> {
    session: Box<dyn TransactionalSession + 'a>,
    is_elided: bool,
}

impl Unit for TransactionalUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        Ok(self.session.execute(done).map_err(Failure::from)?)
    }

    fn counts(&self) -> Counts {
        let TransactionalCounts { index, index_look_ups, row, log, caches, mut named, executed } =
            self.session.counts();
        if self.is_elided {
            let [data_cache, system_cache] = caches.elision;
            named.extend(elision_counters!("data_cache", data_cache));
            named.extend(elision_counters!("system_cache", system_cache));
        }
        let mut contention = vec![("index", index), ("row", row), ("log", log)];
        contention.extend(CACHES.into_iter().zip(caches.contention));
        let mut lookups = vec![("index", index_look_ups)];
        lookups.extend(CACHES.into_iter().zip(caches.look_ups));
        Counts { contention, lookups, counters: named, executed }
    }
}
