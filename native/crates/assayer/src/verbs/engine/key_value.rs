//! YCSB on the key-value store: loads it, drives it, checks it, reports.

use assay_data_cache::PoolCounts;
use assay_engine::{Configuration, Elision, Engine, Parts, Session, SessionCounts, registry};
use assay_workload::{OperationKind, Parameters, Plan, Stream};

use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::{EngineParts, EngineRequest, Ycsb};
use crate::protocol::response::{EngineManifest, State, WaitingManifest};
use crate::verbs::run::{Ending, Run, Subject, ran};
use crate::verbs::{arena_memory, elision_counters, hint, waiting_manifest};
use assay_measure::Measured;
use assay_measure::{Counts, Done, Timed, Unit};

/// Operations between two looks at the stop flag.
const BATCH: usize = 16;

/// Runs the workload.
pub fn run(request: &EngineRequest, workload: &Ycsb, output: &mut Output) -> Result<(), Failure> {
    let (parts, schedule) = (&request.parts, request.schedule());
    let run = Run::begin("engine", &schedule, request.check_only, output)?;
    let plan = Plan::new(parameters(workload, schedule.seed))?;
    let hint = hint::put_in_force(parts.hint, parts.hint_ns, parts.hint_repeats, &run.clock)?;
    let configuration = Configuration {
        parts: self::parts(parts),
        plan: &plan,
        sessions: 2 * schedule.threads,
        clock: run.clock,
    };
    let engine = registry::build(&configuration)?;
    let (threads, waiting) = (schedule.threads, waiting_manifest!(parts, hint));
    run.measure(Records { parts, threads, waiting, plan, engine }, output)
}

struct Records<'a> {
    parts: &'a EngineParts,
    threads: usize,
    waiting: WaitingManifest,
    plan: Plan,
    engine: Box<dyn Engine>,
}

impl Subject for Records<'_> {
    type Manifest = EngineManifest;

    fn kinds(&self) -> Vec<&'static str> {
        self.plan.kinds().into_iter().map(OperationKind::name).collect()
    }

    fn timed(&self) -> Option<Timed> {
        Some(Timed { ends: BATCH, operations: 1 })
    }

    fn load(&self) -> Result<(), Failure> {
        Ok(self.engine.load(self.threads, life::stop_flag())?)
    }

    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        Ok(Box::new(EngineUnit {
            session: self.engine.session(),
            stream: self.plan.stream(thread, self.parts.repeat_every),
            is_elided: self.parts.elision == Elision::On,
        }))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<EngineManifest, Failure> {
        let (parts, selected) = (self.parts, self.engine.selected());
        Ok(EngineManifest {
            waiting: self.waiting,
            data_cache: parts.data_cache.name(),
            cache_partitions: selected.cache_partitions,
            cache_share: parts.cache_share,
            cache_pages: selected.cache_pages,
            pages: parts.pages.name(),
            repeat_every: parts.repeat_every,
            lock_stride_bytes: selected.lock_stride_bytes,
            memory: arena_memory(self.engine.memory()?),
            placed: run.placed(),
            load_s: run.since_s(),
            records: self.plan.keys().readable(),
            inputs_per_thread: self.plan.inputs_per_thread(),
        })
    }

    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        let (selected, state, counts) =
            (self.engine.selected(), self.engine.state(), &measured.counts);
        let waits = counts.contention.iter().map(|(_, class)| class.waits).sum();
        let lookups = counts.lookups.iter().map(|(_, number)| number).sum();
        Ok(Ending {
            ran: vec![
                ran("lock_slow", selected.lock_slow, waits),
                ran("data_cache_lookup", selected.data_cache_lookup, lookups),
            ],
            memory: Some(self.engine.memory()?),
            ..Ending::of(State::of(state.records, state.is_sound))
        })
    }
}

pub fn parameters(workload: &Ycsb, seed: u64) -> Parameters {
    Parameters {
        mix: workload.mix,
        records: workload.records,
        fields: workload.fields,
        field_bytes: workload.field_bytes,
        chooser: workload.chooser,
        theta: workload.theta,
        operations: workload.operations,
        max_scan: workload.max_scan,
        seed,
    }
}

fn parts(parts: &EngineParts) -> Parts {
    Parts {
        hint: parts.hint,
        lock: parts.lock,
        elision: parts.elision,
        elision_retries: parts.elision_retries,
        spin_limit: parts.spin_limit,
        padding: parts.padding,
        data_cache: parts.data_cache,
        cache_partitions: parts.cache_partitions,
        cache_share: parts.cache_share,
        pages: parts.pages,
    }
}

/// A session with its inputs, as the driver sees it.
struct EngineUnit<'a> {
    session: Box<dyn Session + 'a>,
    stream: Stream,
    is_elided: bool,
}

impl EngineUnit<'_> {
    fn counters(&self, counts: &SessionCounts) -> Vec<(&'static str, u64)> {
        let PoolCounts { hits, misses, evictions, write_backs } = counts.pool;
        let mut counters = vec![
            ("data_cache.hits", hits),
            ("data_cache.misses", misses),
            ("data_cache.evictions", evictions),
            ("data_cache.write_backs", write_backs),
        ];
        if self.is_elided {
            counters.extend(elision_counters!("data_cache", counts.data_cache_elision));
            counters.extend(elision_counters!("index", counts.index_elision));
            counters.extend(elision_counters!("row", counts.row_elision));
        }
        counters
    }
}

impl Unit for EngineUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        let executed = self.session.execute(&mut self.stream, BATCH, done);
        Ok(executed.map_err(Failure::from)?)
    }

    fn counts(&self) -> Counts {
        let counts = self.session.counts();
        Counts {
            contention: vec![
                ("data_cache", counts.data_cache),
                ("index", counts.index),
                ("row", counts.row),
            ],
            lookups: vec![("data_cache", counts.pool.look_ups())],
            counters: self.counters(&counts),
            executed: counts.executed,
        }
    }
}
