//! Transactions: YCSB, TPC-C and the trade-desk over tables, on the chosen parts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_engine::Elision;
use assay_engine::transactional::jobs::{Report, Tpcc, TradeDesk, Ycsb};
use assay_engine::transactional::{
    self, Built, CcChoice, Ended, IndexChoice, Job, Setting, TransactionalCounts,
    TransactionalParts, TransactionalSession,
};
use assay_plans::{COLUMN_OF_SUMS, Plan as QueryPlan, Query, compile, hits_like};
use assay_primitives::{Clock, htm};
use assay_workload::{Plan, tpcc, trade_desk};

use super::aggregate;
use super::key_value::parameters;
use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::life;
use crate::measure::{Measured, Measurement};
use crate::output::Output;
use crate::protocol::request::{self, EngineParts, EngineRequest};
use crate::protocol::response::{
    Checked, HintManifest, Phase, Ran, Ready, State, TransactionalManifest,
};
use crate::verbs::{
    Ending, arena_memory, clock_response, elision_counters, hint, own_build_id, ran, result,
};

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
    let started = begin(output)?;
    let plan = Plan::new(parameters(workload, request.schedule().seed))?;
    run(request, Ycsb::new(plan), &Asked { started, has_waits: false, report: None }, output)
}

/// TPC-C.
pub fn tpcc(
    request: &EngineRequest,
    workload: &request::Tpcc,
    output: &mut Output,
) -> Result<(), Failure> {
    let started = begin(output)?;
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
    run(request, job, &Asked { started, has_waits: workload.waits, report: None }, output)
}

/// The trade-desk.
pub fn trade_desk(
    request: &EngineRequest,
    workload: &request::TradeDesk,
    output: &mut Output,
) -> Result<(), Failure> {
    let started = begin(output)?;
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
    run(request, job, &Asked { started, has_waits, report: Some(plan) }, output)
}

/// What differs from workload to workload.
struct Asked {
    started: Instant,
    has_waits: bool,
    report: Option<Arc<dyn QueryPlan>>,
}

fn begin(output: &mut Output) -> Result<Instant, Failure> {
    output.write("phase", &Phase { name: "load" })?;
    Ok(Instant::now())
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

fn run<J: Job + 'static>(
    request: &EngineRequest,
    job: J,
    asked: &Asked,
    output: &mut Output,
) -> Result<(), Failure> {
    let (schedule, clock) = (request.schedule(), Clock::calibrated());
    if schedule.threads > THREADS_MAX {
        let threads = schedule.threads;
        let message = format!("threads is {threads}: transactions take from 1 to {THREADS_MAX}");
        return Err(Failure::usage(message));
    }
    let setting = Setting {
        threads: schedule.threads,
        has_waits: asked.has_waits,
        clock,
        log_folder: &std::env::temp_dir(),
    };
    let EngineParts { hint, hint_ns, hint_repeats, .. } = request.parts;
    let hint = hint::put_in_force(hint, hint_ns, hint_repeats, &clock)?;
    let built = transactional::build(&parts(request)?, job, setting)?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let engine = &*built.engine;
    engine.load(schedule.threads, life::stop_flag())?;
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: engine.kinds(),
        clock,
        server: None,
        beside: Vec::new(),
    };
    let is_elided = request.parts.elision == Elision::On;
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        let (session, ended) = (engine.session(thread)?, Vec::new());
        Ok(Box::new(TransactionalUnit { session, ended, is_elided }))
    };
    let ready = |output: &mut Output| {
        let manifest = manifest(request, hint, &built, &measurement, asked)?;
        let build_id = own_build_id()?;
        let ready =
            Ready { verb: "engine", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let ending = ending(&built, &measured, asked)?;
    output.write("result", &result(&measurement, &measured, ending)?)
}

fn manifest(
    request: &EngineRequest,
    hint: HintManifest,
    built: &Built,
    measurement: &Measurement<'_>,
    asked: &Asked,
) -> Result<TransactionalManifest, Failure> {
    let parts = &request.parts;
    Ok(TransactionalManifest {
        hint,
        lock: parts.lock.name(),
        elision: parts.elision.name(),
        elision_retries: parts.elision_retries,
        htm: htm::state().0.name(),
        spin_limit: parts.spin_limit,
        padding: parts.padding,
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
        threads: measurement.cpus.len(),
        cpus: measurement.cpus.to_vec(),
        memory: arena_memory(built.memory()?),
        clock: clock_response(&measurement.clock),
        load_s: asked.started.elapsed().as_secs_f64(),
    })
}

fn ending(built: &Built, measured: &Measured, asked: &Asked) -> Result<Ending, Failure> {
    let engine = &*built.engine;
    let faults = engine.faults()?;
    Ok(Ending {
        latency_of: "operations",
        ran: what_ran(built, measured, asked),
        memory: Some(built.memory()?),
        state: State { records: None, checksum_ok: faults.is_empty(), faults },
    })
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
    ended: Vec<Ended>,
    is_elided: bool,
}

impl Unit for TransactionalUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        self.ended.clear();
        self.session.execute(&mut self.ended)?;
        done.extend(self.ended.iter().map(|ended| Done {
            since: ended.since,
            end_ticks: ended.end_ticks,
            kind: ended.kind,
            operations: 1,
            is_error: ended.is_error,
            is_extra: ended.is_extra,
            sent: None,
        }));
        Ok(())
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
