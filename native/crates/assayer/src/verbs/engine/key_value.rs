//! YCSB on the key-value store: loads it, drives it, checks it, reports.

use std::time::Instant;

use assay_data_cache::PoolCounts;
use assay_engine::{
    Completion, Configuration, Elision, Engine, Parts, Session, SessionCounts, registry,
};
use assay_primitives::{Clock, htm};
use assay_workload::{OperationKind, Parameters, Plan, Stream};

use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::life;
use crate::measure::Measurement;
use crate::output::Output;
use crate::protocol::request::{EngineParts, EngineRequest, Ycsb};
use crate::protocol::response::{Checked, EngineManifest, HintManifest, Phase, Ready, State};
use crate::verbs::{
    Ending, arena_memory, clock_response, elision_counters, hint, own_build_id, ran, result,
};

/// Operations between two looks at the stop flag.
const BATCH: usize = 16;

/// Runs the workload.
pub fn run(request: &EngineRequest, workload: &Ycsb, output: &mut Output) -> Result<(), Failure> {
    let schedule = request.schedule();
    let clock = Clock::calibrated();
    output.write("phase", &Phase { name: "load" })?;
    let started = Instant::now();
    let plan = Plan::new(parameters(workload, schedule.seed))?;
    let configuration = Configuration {
        parts: parts(&request.parts),
        plan: &plan,
        sessions: 2 * schedule.threads,
        clock,
    };
    let parts = &request.parts;
    let hint = hint::put_in_force(parts.hint, parts.hint_ns, parts.hint_repeats, &clock)?;
    let engine = registry::build(&configuration)?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    engine.load(schedule.threads, life::stop_flag())?;
    let kinds = kinds_of(&plan);
    let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name()).collect();
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &names,
        clock,
        server: None,
        beside: Vec::new(),
    };
    let repeat_every = request.parts.repeat_every;
    let is_elided = request.parts.elision == Elision::On;
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        let stream = plan.stream(thread, repeat_every);
        Ok(Box::new(EngineUnit::new(engine.session(), stream, &kinds, is_elided)))
    };
    let ready = |output: &mut Output| {
        let manifest = manifest(request, hint, &plan, &*engine, &measurement, started)?;
        let build_id = own_build_id()?;
        let ready =
            Ready { verb: "engine", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let ending = ending(&*engine, &measured.counts)?;
    output.write("result", &result(&measurement, &measured, ending)?)
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

fn kinds_of(plan: &Plan) -> Vec<OperationKind> {
    let shares = plan.parameters().mix.shares();
    OperationKind::ALL.into_iter().filter(|kind| shares[*kind as usize] > 0.0).collect()
}

fn manifest(
    request: &EngineRequest,
    hint: HintManifest,
    plan: &Plan,
    engine: &dyn Engine,
    measurement: &Measurement<'_>,
    started: Instant,
) -> Result<EngineManifest, Failure> {
    let parts = &request.parts;
    let selected = engine.selected();
    Ok(EngineManifest {
        hint,
        lock: parts.lock.name(),
        elision: parts.elision.name(),
        elision_retries: parts.elision_retries,
        htm: htm::state().0.name(),
        spin_limit: parts.spin_limit,
        padding: parts.padding,
        data_cache: parts.data_cache.name(),
        cache_partitions: selected.cache_partitions,
        cache_share: parts.cache_share,
        cache_pages: selected.cache_pages,
        pages: parts.pages.name(),
        repeat_every: parts.repeat_every,
        threads: measurement.cpus.len(),
        cpus: measurement.cpus.to_vec(),
        lock_stride_bytes: selected.lock_stride_bytes,
        memory: arena_memory(engine.memory()?),
        clock: clock_response(&measurement.clock),
        load_s: started.elapsed().as_secs_f64(),
        records: plan.keys().readable(),
        inputs_per_thread: plan.inputs_per_thread(),
    })
}

fn ending(engine: &dyn Engine, counts: &Counts) -> Result<Ending, Failure> {
    let selected = engine.selected();
    let state = engine.state();
    let waits = counts.contention.iter().map(|(_, class)| class.waits).sum();
    let lookups = counts.lookups.iter().map(|(_, number)| number).sum();
    Ok(Ending {
        latency_of: "operations",
        ran: vec![
            ran("lock_slow", selected.lock_slow, waits),
            ran("data_cache_lookup", selected.data_cache_lookup, lookups),
        ],
        memory: Some(engine.memory()?),
        state: State::of(state.records, state.is_sound),
    })
}

/// A session with its inputs, as the driver sees it.
struct EngineUnit<'a> {
    session: Box<dyn Session + 'a>,
    stream: Stream,
    completions: [Completion; BATCH],
    /// From a kind of operation to its place among the kinds of this mix.
    place_of_kind: [usize; OperationKind::ALL.len()],
    is_elided: bool,
}

impl<'a> EngineUnit<'a> {
    fn new(
        session: Box<dyn Session + 'a>,
        stream: Stream,
        kinds: &[OperationKind],
        is_elided: bool,
    ) -> Self {
        let mut place_of_kind = [0; OperationKind::ALL.len()];
        for (place, kind) in kinds.iter().enumerate() {
            place_of_kind[*kind as usize] = place;
        }
        let kind = OperationKind::Read;
        let nothing = Completion { end_ticks: 0, kind, is_error: false, is_extra: false };
        Self { session, stream, completions: [nothing; BATCH], place_of_kind, is_elided }
    }
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
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        self.session.execute(&mut self.stream, &mut self.completions)?;
        done.extend(self.completions.iter().map(|completion| Done {
            since: None,
            end_ticks: completion.end_ticks,
            kind: self.place_of_kind[completion.kind as usize],
            operations: 1,
            is_error: completion.is_error,
            is_extra: completion.is_extra,
            sent: None,
        }));
        Ok(())
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
