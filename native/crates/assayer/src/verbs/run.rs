//! One run from its beginning to its result: the same for every verb that measures.
//!
//! A verb brings a [`Subject`]: units to drive, what it really chose, and how its data are afterwards.
//! Clock, phases, pinning, the window and the result are here, once.

use std::collections::BTreeMap;
use std::time::Instant;

use assay_primitives::pages::touch;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Clock};
use assay_sampler::{ProcessTree, process};
use serde::Serialize;

use super::{arena_memory, contention_response, cpu_response, own_build_id};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::Schedule;
use crate::protocol::response::{
    self, Checked, Health, KindResult, Load, Phase, Placed, Ran, Ready, ResultMemory, RunResult,
    ServerUsage, State, ThreadResult,
};
use assay_measure::encode;
use assay_measure::{Measured, Measurement};
use assay_measure::{Timed, Unit};

/// What a verb measures.
pub trait Subject: Sync {
    /// What it says of itself when it is loaded.
    type Manifest: Serialize;

    /// The names of its units' kinds.
    fn kinds(&self) -> Vec<&'static str>;

    /// How its operations are timed, where that costs them time of their own.
    fn timed(&self) -> Option<Timed>;

    /// Makes its data. A request that only checks ends before.
    fn load(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The server's processes, and others whose work is no disturbance.
    fn processes(&self) -> Result<(Option<ProcessTree>, Vec<ProcessTree>), Failure> {
        Ok((None, Vec::new()))
    }

    /// What a worker drives, made on its thread.
    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure>;

    /// What was really chosen and obtained, once all units are made.
    fn manifest(&self, run: &Run<'_>) -> Result<Self::Manifest, Failure>;

    /// The host as this verb sees it.
    fn health(&self, measured: &Measured) -> Health {
        measured.health
    }

    /// What only the verb knows about a run that is over.
    fn ending(&mut self, run: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure>;
}

/// What only the verb knows about a run that is over.
pub struct Ending {
    pub ran: Vec<Ran>,
    /// Of the data's own mapping, where there is one.
    pub memory: Option<Mapped>,
    pub state: State,
    pub load: Option<Load>,
    pub server: Option<ServerUsage>,
}

impl Ending {
    /// With nothing but the state of the data.
    pub fn of(state: State) -> Self {
        Self { ran: Vec::new(), memory: None, state, load: None, server: None }
    }
}

/// A run that has begun.
pub struct Run<'a> {
    verb: &'static str,
    pub schedule: &'a Schedule,
    pub clock: Clock,
    /// The CPU of each worker, if they are pinned.
    pub cpus: Vec<Option<usize>>,
    started: Instant,
    is_check: bool,
}

impl<'a> Run<'a> {
    /// Calibrates the clock and says that loading begins. Memory that is mapped from now on lies near
    /// the workers.
    pub fn begin(
        verb: &'static str,
        schedule: &'a Schedule,
        is_check: bool,
        output: &mut Output,
    ) -> Result<Self, Failure> {
        let (clock, cpus) = (Clock::calibrated(), schedule.cpus());
        touch::workers_on(cpus.iter().copied().flatten());
        output.write("phase", &Phase { name: "load" })?;
        Ok(Self { verb, schedule, clock, cpus, started: Instant::now(), is_check })
    }

    /// Where it runs.
    pub fn placed(&self) -> Placed {
        Placed {
            threads: self.cpus.len(),
            cpus: self.cpus.clone(),
            clock: clock_response(&self.clock),
        }
    }

    /// Seconds since it began.
    pub fn since_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Loads, measures and writes the result, unless the request only checks.
    pub fn measure<S: Subject>(&self, mut subject: S, output: &mut Output) -> Result<(), Failure> {
        if self.is_check {
            return output.write("checked", &Checked {});
        }
        subject.load()?;
        let (kinds, (server, beside)) = (subject.kinds(), subject.processes()?);
        let measurement = Measurement {
            schedule: self.schedule,
            cpus: &self.cpus,
            kinds: &kinds,
            clock: self.clock,
            stop: life::stop_flag(),
            timed: subject.timed(),
            server,
            beside,
        };
        let ready = |output: &mut Output| {
            let manifest = subject.manifest(self)?;
            let (pid, build_id) = (std::process::id(), own_build_id()?);
            let ready = Ready { verb: self.verb, pid, build_id: &build_id, manifest };
            Ok(output.write("ready", &ready)?)
        };
        let mut measured = measurement.run(|thread| Ok(subject.unit(thread)?), ready, output)?;
        output.write("health", &subject.health(&measured))?;
        let ending = subject.ending(self, &mut measured)?;
        let result = self.result(&kinds, subject.timed(), &measured, ending)?;
        // In order, and before anybody is told that it is over.
        drop(subject);
        output.write("result", &result)
    }

    fn result(
        &self,
        kinds: &[&'static str],
        timed: Option<Timed>,
        measured: &Measured,
        ending: Ending,
    ) -> Result<RunResult, Failure> {
        let mut by_kind = BTreeMap::new();
        for (name, histogram) in kinds.iter().zip(&measured.recording.by_kind) {
            let kind = KindResult { operations: histogram.len(), histogram: encode(histogram)? };
            by_kind.insert(*name, kind);
        }
        let (process, counts) = (process::memory(), &measured.counts);
        let threads = self.cpus.iter().zip(&measured.reports).map(|(cpu, report)| ThreadResult {
            cpu: *cpu,
            operations: report.operations,
            cpu_s: report.cpu_s,
        });
        let contention = counts.contention.iter();
        Ok(RunResult {
            complete: measured.is_complete,
            window_s: measured.window_s,
            operations: measured.recording.operations(),
            errors: measured.recording.errors,
            latency_of: timed.unwrap_or_default().to_string(),
            overhead_ns_per_operation: measured.overhead_ns,
            by_kind,
            histogram: encode(&measured.recording.all()?)?,
            threads: threads.collect(),
            contention: contention
                .map(|(name, class)| (*name, contention_response(class, &self.clock)))
                .collect(),
            lookups: counts.lookups.iter().copied().collect(),
            counters: counts.counters.iter().copied().collect(),
            executed: counts.executed,
            ran: ending.ran,
            memory: ResultMemory {
                arena: ending.memory.map(arena_memory),
                rss_bytes: process.rss_bytes,
                page_table_bytes: process.page_table_bytes,
            },
            cpus: measured.cpus.iter().map(cpu_response).collect(),
            state: ending.state,
            load: ending.load,
            server: ending.server,
        })
    }
}

/// What a clock is.
pub fn clock_response(clock: &Clock) -> response::Clock {
    response::Clock { source: clock.source(), hz: clock.hz() }
}

/// A function that was called, by its run-time address.
pub fn ran(role: &'static str, address: Address, calls: u64) -> Ran {
    let link_time = address.get().wrapping_sub(process::load_bias());
    Ran { role, address: format!("{link_time:#x}"), calls, made: None }
}
