//! A whole measurement: workers on their CPUs, phases, intervals as they end, the host around it.
//!
//! The main thread sleeps between messages. It samples the host at both ends of the window and
//! merges what workers send; it never touches what they write.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use assay_primitives::Clock;
use assay_sampler::{CpuShare, ProcessTree, TreeUsage, process};

use crate::done::{Counts, Timed, Unit};
use crate::driver::{self, Message, Window, WorkerReport};
use crate::host::{OwnUsage, Sample};
use crate::recorder::{Recording, encode};
use crate::schedule::{Schedule, Slices};
use crate::slices::{Conductor, Slice, Spans};
use crate::told::{Health, Interval, Listener, SliceUse};
use crate::{MeasureError, NS_PER_MS, Result};

/// What a measurement needs to know.
pub struct Measurement<'a> {
    /// How long, how many.
    pub schedule: &'a Schedule,
    /// Where each worker runs.
    pub cpus: &'a [Option<usize>],
    /// The names of the unit's kinds.
    pub kinds: &'a [&'static str],
    /// The clock of the stamps.
    pub clock: Clock,
    /// Ends the run early.
    pub stop: &'static AtomicBool,
    /// How operations are timed, if that is to be measured.
    pub timed: Option<Timed>,
    /// A process whose tree is the server, as it was before the window.
    pub server: Option<ProcessTree>,
    /// Others whose work is no disturbance.
    pub beside: Vec<ProcessTree>,
}

/// What came out of it.
pub struct Measured {
    /// Whether the window was over, not cut short.
    pub is_complete: bool,
    /// Its real length.
    pub window_s: f64,
    /// What measuring took of an operation's time, in nanoseconds.
    pub overhead_ns: Option<f64>,
    /// All that was recorded.
    pub recording: Recording,
    /// Each worker's end.
    pub reports: Vec<WorkerReport>,
    /// The sum of the workers' counts over the window.
    pub counts: Counts,
    /// The host during the window.
    pub health: Health,
    /// Each CPU during the window.
    pub cpus: Vec<CpuShare>,
    /// The server's processes during the window, if they were to be watched and outlived it.
    pub server: Option<TreeUsage>,
    /// This process during the window, all of its threads.
    pub own: OwnUsage,
}

/// Releases the workers when all are ready: with the window, or without one to send them home.
struct Gate {
    barrier: Barrier,
    window: OnceLock<Window>,
    /// What measuring takes, as the first worker found on its CPU.
    overhead_ns: OnceLock<f64>,
    /// Where arms take turns: the spans of this one, and its slices that are over.
    spans: Spans,
    over: Mutex<Vec<Slice>>,
}

impl Gate {
    fn new(workers: usize) -> Self {
        Self {
            barrier: Barrier::new(workers + 1),
            window: OnceLock::new(),
            overhead_ns: OnceLock::new(),
            spans: Spans::new(workers),
            over: Mutex::default(),
        }
    }
}

impl Measurement<'_> {
    /// Makes a unit on each worker's own thread, calls `ready`, and measures.
    pub fn run<'u, L: Listener>(
        &self,
        make_unit: impl Fn(usize) -> Result<Box<dyn Unit + 'u>> + Sync,
        ready: impl FnOnce(&mut L) -> Result<()>,
        output: &mut L,
    ) -> Result<Measured> {
        let gate = Gate::new(self.cpus.len());
        let (prepared_sender, prepared) = channel();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for thread in 0..self.cpus.len() {
                let (prepared, sender) = (prepared_sender.clone(), sender.clone());
                let (gate, make_unit) = (&gate, &make_unit);
                scope.spawn(move || self.worker(thread, make_unit, &prepared, gate, &sender));
            }
            drop((prepared_sender, sender));
            let is_prepared = prepared.iter().take(self.cpus.len()).try_for_each(|unit| unit);
            let result = is_prepared.and_then(|()| ready(output));
            let result = result.and_then(|()| self.open(&gate, output));
            gate.barrier.wait();
            let conductor = result.is_ok().then(|| {
                let gate = &gate;
                self.schedule.slices.as_ref().map(|asked| scope.spawn(|| self.conduct(asked, gate)))
            });
            let measured = result.and_then(|window| self.collect(window, &gate, &receiver, output));
            let conducted = conductor.flatten().map(|thread| thread.join());
            // Why turns could not be taken says more than what came of it.
            let measured = match conducted {
                Some(Ok(Err(error))) => Err(error),
                _ => measured,
            };
            if measured.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            measured
        })
    }

    /// Takes this arm's turns.
    fn conduct(&self, asked: &Slices, gate: &Gate) -> Result<()> {
        let sample = |with_switches| {
            Sample::take(&self.clock, self.server.as_ref(), &self.beside, with_switches)
        };
        let conductor = Conductor::new(self, asked, &gate.spans, &gate.over);
        let ended = conductor.and_then(|conductor| conductor.run(sample));
        if ended.is_err() {
            // Workers that have not come to rest are not waited for.
            self.stop.store(true, Ordering::Relaxed);
            gate.spans.finish();
        }
        ended
    }

    fn worker<'u>(
        &self,
        thread: usize,
        make_unit: &(impl Fn(usize) -> Result<Box<dyn Unit + 'u>> + Sync),
        prepared: &Sender<Result<()>>,
        gate: &Gate,
        sender: &Sender<Message>,
    ) {
        let unit = self.prepare(thread, make_unit).and_then(|unit| {
            if let Some(timed) = self.timed.filter(|_| thread == 0) {
                let found = driver::overhead_ns(timed, self.clock)?;
                gate.overhead_ns.get_or_init(|| found);
            }
            Ok(unit)
        });
        let (unit, result) = match unit {
            Ok(unit) => (Some(unit), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The main thread waits for every worker's word, so it is there to hear it.
        let _ = prepared.send(result);
        gate.barrier.wait();
        if let (Some(mut unit), Some(window)) = (unit, gate.window.get()) {
            let (stop, kinds) = (self.stop, self.kinds.len());
            match &self.schedule.slices {
                None => driver::work(&mut *unit, kinds, self.clock, *window, stop, thread, sender),
                Some(slices) => {
                    let (spans, own) = (&gate.spans, slices.own());
                    let sent = (thread, sender);
                    driver::work_in_slices(&mut *unit, kinds, self.clock, spans, own, stop, sent);
                }
            }
        }
    }

    fn prepare<'u>(
        &self,
        thread: usize,
        make_unit: &(impl Fn(usize) -> Result<Box<dyn Unit + 'u>> + Sync),
    ) -> Result<Box<dyn Unit + 'u>> {
        if let Some(cpu) = self.cpus[thread]
            && !process::pin_thread(cpu)
        {
            return Err(MeasureError::Missing {
                message: format!("worker {thread} cannot be pinned to CPU {cpu}"),
                next: "run with \"pin\": false".to_owned(),
            }
            .into());
        }
        make_unit(thread)
    }

    fn open(&self, gate: &Gate, output: &mut dyn Listener) -> Result<Window> {
        output.phase("warmup")?;
        let ticks = |ms: u64| self.clock.ticks_of_ns(ms * NS_PER_MS);
        let start = self.clock.ticks() + ticks(self.schedule.warmup_ms);
        let end = start + ticks(self.schedule.window_ms);
        let interval = ticks(self.schedule.interval_ms).max(1);
        Ok(*gate.window.get_or_init(|| Window { start, end, interval }))
    }

    fn collect(
        &self,
        window: Window,
        gate: &Gate,
        receiver: &Receiver<Message>,
        output: &mut dyn Listener,
    ) -> Result<Measured> {
        let mut collector = Collector::new(self, window, gate);
        loop {
            collector.sample_when_due(output)?;
            collector.write_slices(output)?;
            match receiver.recv_timeout(collector.until_due()) {
                Ok(message) => collector.take(message, output)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return collector.finish(output),
            }
        }
    }
}

/// Gathers what workers send until all are through.
struct Collector<'a> {
    measurement: &'a Measurement<'a>,
    window: Window,
    opening: Option<Sample>,
    closing: Option<Sample>,
    /// The server's processes at the end, read at once: those of connections end soon.
    server: Option<TreeUsage>,
    /// Intervals that some threads have still to end: how many have, and what they recorded.
    pending: BTreeMap<usize, (usize, Recording)>,
    total: Recording,
    reports: BTreeMap<usize, WorkerReport>,
    gate: &'a Gate,
}

impl<'a> Collector<'a> {
    fn new(measurement: &'a Measurement<'a>, window: Window, gate: &'a Gate) -> Self {
        Self {
            gate,
            measurement,
            window,
            opening: None,
            closing: None,
            server: None,
            pending: BTreeMap::new(),
            total: Recording::new(measurement.kinds.len()),
            reports: BTreeMap::new(),
        }
    }

    fn sample_when_due(&mut self, output: &mut dyn Listener) -> Result<()> {
        if self.measurement.schedule.slices.is_some() {
            return Ok(());
        }
        let clock = &self.measurement.clock;
        if self.opening.is_none() && clock.ticks() >= self.window.start {
            self.opening = Some(self.sample());
            output.phase("measure")?;
        }
        if self.closing.is_none() && clock.ticks() >= self.window.end {
            let closing = self.sample();
            self.server = self.usage(&closing);
            self.closing = Some(closing);
        }
        Ok(())
    }

    fn usage(&self, closing: &Sample) -> Option<TreeUsage> {
        let then = self.opening.as_ref()?.server.as_ref()?;
        Some(closing.server.as_ref()?.since(then))
    }

    fn sample(&self) -> Sample {
        // Processes that a server had at the opening belong to it, whoever adopts them since.
        let opened = self.opening.as_ref().and_then(|sample| sample.server.as_ref());
        let server = opened.or(self.measurement.server.as_ref());
        Sample::take(&self.measurement.clock, server, &self.measurement.beside, true)
    }

    fn until_due(&self) -> Duration {
        if self.measurement.schedule.slices.is_some() {
            return Duration::from_millis(20);
        }
        let clock = &self.measurement.clock;
        let due = match (&self.opening, &self.closing) {
            (None, _) => self.window.start,
            (_, None) => self.window.end,
            _ => return Duration::from_millis(100),
        };
        Duration::from_nanos(clock.ns_between(clock.ticks(), due))
    }

    fn take(&mut self, message: Message, output: &mut dyn Listener) -> Result<()> {
        match message {
            Message::Interval(index, recording) => {
                let kinds = self.measurement.kinds.len();
                let (ended, sum) =
                    self.pending.entry(index).or_insert_with(|| (0, Recording::new(kinds)));
                *ended += 1;
                sum.add(&recording)?;
                // Workers that were stopped hand in an interval before its end: `finish` writes it.
                if self.measurement.schedule.slices.is_some() {
                    return Ok(());
                }
                let end = self.window.interval_end(index);
                let is_over = self.measurement.clock.ticks() >= end;
                if *ended == self.measurement.cpus.len() && is_over {
                    self.write_interval(index, end, output)?;
                }
            }
            Message::Finished(thread, report) => {
                self.reports.insert(thread, *report);
            }
            Message::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes an interval that ends at `end`, unless it ends before it begins (a run stopped in its
    /// warm-up).
    fn write_interval(&mut self, index: usize, end: u64, output: &mut dyn Listener) -> Result<()> {
        let Some((_, recording)) = self.pending.remove(&index) else { return Ok(()) };
        self.total.add(&recording)?;
        let ms = |ticks: u64| self.measurement.clock.ns(ticks) as f64 / NS_PER_MS as f64;
        let start = self.window.start + index as u64 * self.window.interval;
        let end = end.min(self.stopped_at()).min(self.window.interval_end(index));
        if end <= start {
            return Ok(());
        }
        let message = Interval {
            index,
            start_ms: ms(start - self.window.start),
            length_ms: ms(end - start),
            operations: recording.operations(),
            errors: recording.errors,
            histogram: &encode(&recording.all()?)?,
            slice: None,
        };
        output.interval(&message)
    }

    /// Writes the slices that are over and that all workers have handed in.
    fn write_slices(&mut self, output: &mut dyn Listener) -> Result<()> {
        let threads = self.measurement.cpus.len();
        let over = self.gate.over.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, slice) in over.iter().enumerate() {
            if self.pending.get(&index).is_none_or(|(ended, _)| *ended < threads) {
                continue;
            }
            if index == 0 {
                output.phase("measure")?;
            }
            let Some((_, recording)) = self.pending.remove(&index) else { continue };
            self.total.add(&recording)?;
            let clock = &self.measurement.clock;
            let ms = |from: u64, to: u64| clock.ns_between(from, to) as f64 / NS_PER_MS as f64;
            let last = index.checked_sub(1).map(|last| &over[last]);
            let message = Interval {
                index,
                start_ms: ms(over[0].start, slice.start),
                length_ms: ms(slice.start, slice.end),
                operations: recording.operations(),
                errors: recording.errors,
                histogram: "",
                slice: Some(slice.used(last, recording.early, clock)),
            };
            output.interval(&message)?;
        }
        Ok(())
    }

    /// When the last worker stopped early; the far future while none has.
    fn stopped_at(&self) -> u64 {
        let early = self.reports.values().filter(|report| !report.is_complete);
        early.map(|report| report.last_ticks).max().unwrap_or(u64::MAX)
    }

    fn finish(mut self, output: &mut dyn Listener) -> Result<Measured> {
        if self.measurement.schedule.slices.is_some() {
            return self.finish_slices(output);
        }
        let clock = self.measurement.clock;
        let is_complete = self.reports.values().all(|report| report.is_complete);
        let end = self.stopped_at().min(self.window.end);
        for index in self.pending.keys().copied().collect::<Vec<_>>() {
            self.write_interval(index, end, output)?;
        }
        let window_s = clock.ns_between(self.window.start, end) as f64 / 1e9;
        let closing = self.closing.take().unwrap_or_else(|| self.sample());
        let opening = self.opening.take().unwrap_or_else(|| self.sample());
        let cpus = closing.times.shares_since(&opening.times);
        let operations = self.total.operations();
        let spent = Spent::between(&opening, &closing, &clock);
        let health = self.health(spent, &cpus, operations as f64, window_s);
        let own = closing.own_since(&opening);
        Ok(self.measured(is_complete, window_s, health, cpus, own))
    }

    /// The end of a measurement in slices: of all that happened, what happened in them.
    fn finish_slices(mut self, output: &mut dyn Listener) -> Result<Measured> {
        self.write_slices(output)?;
        let clock = self.measurement.clock;
        let over =
            std::mem::take(&mut *self.gate.over.lock().unwrap_or_else(PoisonError::into_inner));
        let is_complete = !over.is_empty() && self.reports.values().all(|it| it.is_complete);
        let window_s = over.iter().map(|it| clock.ns_between(it.start, it.end) as f64 / 1e9).sum();
        let spent = over.iter().map(|it| Spent::between(&it.before, &it.after, &clock));
        let spent = spent.fold(Spent::default(), Spent::plus);
        let cpus = mean_shares(&over);
        let operations = self.total.operations();
        let health = self.health(spent, &cpus, operations as f64, window_s);
        let (opening, closing) = match (over.first(), over.last()) {
            (Some(first), Some(last)) => (&first.before, &last.after),
            _ => (&self.sample(), &self.sample()),
        };
        let servers = opening.server.as_ref().zip(closing.server.as_ref());
        self.server = servers.map(|(then, now)| now.since(then));
        let own = over.iter().map(|it| it.after.own_since(&it.before));
        let own = own.fold(OwnUsage::default(), OwnUsage::plus);
        Ok(self.measured(is_complete, window_s, health, cpus, own))
    }

    fn measured(
        self,
        is_complete: bool,
        window_s: f64,
        health: Health,
        cpus: Vec<CpuShare>,
        own: OwnUsage,
    ) -> Measured {
        let reports: Vec<WorkerReport> = self.reports.into_values().collect();
        let mut counts = Counts::default();
        reports.iter().for_each(|report| counts.add(&report.counts));
        let (recording, server) = (self.total, self.server);
        let overhead_ns = self.gate.overhead_ns.get().copied();
        Measured {
            is_complete,
            window_s,
            overhead_ns,
            recording,
            reports,
            counts,
            health,
            cpus,
            server,
            own,
        }
    }

    fn health(&self, spent: Spent, cpus: &[CpuShare], operations: f64, window_s: f64) -> Health {
        let per_s = |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Health {
            loader: "in-process",
            busiest_thread: None,
            late_sends: None,
            asked_per_s: None,
            achieved_per_s: per_s(operations, window_s),
            server_idle: self.idle_share(cpus),
            foreign_cpu: per_s(spent.foreign_s, spent.sampled_s),
            steal: per_s(spent.steal_s, spent.sampled_s),
            clock_step_ms: spent.clock_step_ns as f64 / NS_PER_MS as f64,
        }
    }

    /// The mean idle share of the CPUs that workers may use.
    fn idle_share(&self, cpus: &[CpuShare]) -> f64 {
        let pinned: Vec<usize> = self.measurement.cpus.iter().flatten().copied().collect();
        let used = if pinned.is_empty() { process::allowed_cpus() } else { pinned };
        let of_workers = cpus.iter().filter(|share| used.contains(&share.cpu));
        let idle: Vec<f64> = of_workers.map(|share| share.idle).collect();
        if idle.is_empty() { 0.0 } else { idle.iter().sum::<f64>() / idle.len() as f64 }
    }
}

/// What the host spent between two samples, or some pairs of them.
#[derive(Clone, Copy, Default)]
struct Spent {
    sampled_s: f64,
    foreign_s: f64,
    steal_s: f64,
    clock_step_ns: i128,
}

impl Spent {
    fn between(then: &Sample, now: &Sample, clock: &Clock) -> Self {
        Self {
            sampled_s: clock.ns_between(then.ticks, now.ticks) as f64 / 1e9,
            foreign_s: now.foreign_s_since(then),
            steal_s: now.times.steal_s_since(&then.times),
            clock_step_ns: now.clock_step_ns_since(then),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sampled_s: self.sampled_s + other.sampled_s,
            foreign_s: self.foreign_s + other.foreign_s,
            steal_s: self.steal_s + other.steal_s,
            clock_step_ns: self.clock_step_ns + other.clock_step_ns,
        }
    }
}

impl Slice {
    /// What it cost the host, and what the server did since this arm's slice before.
    fn used(&self, last: Option<&Self>, early: Vec<u64>, clock: &Clock) -> SliceUse {
        let spent = Spent::between(&self.before, &self.after, clock);
        let rest = last.map(|last| (&last.after, &self.before));
        SliceUse {
            turn: self.turn,
            early,
            server_cpu_s: self.after.server_s_since(&self.before),
            rest_s: rest.map(|(then, now)| clock.ns_between(then.ticks, now.ticks) as f64 / 1e9),
            rest_cpu_s: rest.map(|(then, now)| now.idle_cpu_s_since(then)),
            calibration: self.calibration,
            foreign_cpu_s: spent.foreign_s,
            steal_s: spent.steal_s,
            drain_ms: clock.ns_between(self.end, self.after.ticks) as f64 / NS_PER_MS as f64,
        }
    }
}

/// How each CPU spent the slices, on average.
fn mean_shares(slices: &[Slice]) -> Vec<CpuShare> {
    let mut means: BTreeMap<usize, CpuShare> = BTreeMap::new();
    let part = 1.0 / slices.len().max(1) as f64;
    for share in slices.iter().flat_map(|it| it.after.times.shares_since(&it.before.times)) {
        let mean =
            means.entry(share.cpu).or_insert(CpuShare { cpu: share.cpu, ..CpuShare::default() });
        mean.busy += part * share.busy;
        mean.user += part * share.user;
        mean.system += part * share.system;
        mean.softirq += part * share.softirq;
        mean.steal += part * share.steal;
        mean.idle += part * share.idle;
    }
    means.into_values().collect()
}
