//! A whole measurement: workers on their CPUs, phases, intervals as they end, the host around it.
//!
//! The main thread sleeps between messages. It samples the host at both ends of the window and
//! merges what workers send; it never touches what they write.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use assay_primitives::Clock;
use assay_sampler::{CpuShare, CpuTimes, KernelThreads, ProcessTree, TreeUsage, process};

use crate::driver::{self, Counts, Message, Unit, Window, WorkerReport};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::Schedule;
use crate::protocol::response::{Health, Interval, Phase};
use crate::recorder::{Recording, encode};

const NS_PER_MS: u64 = 1_000_000;
const THREADS_MAX: usize = 1024;
/// A day: keeps every product of times and rates inside 64 bits.
const TIME_MS_MAX: u64 = 86_400_000;

impl Schedule {
    /// Refuses what cannot be run.
    pub fn validate(&self) -> Result<(), Failure> {
        let ranges = [
            ("threads", self.threads as u64, 1, THREADS_MAX as u64),
            ("warmup_ms", self.warmup_ms, 0, TIME_MS_MAX),
            ("window_ms", self.window_ms, 1, TIME_MS_MAX),
            ("interval_ms", self.interval_ms, 1, TIME_MS_MAX),
        ];
        for (name, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                let message = format!("{name} is {value}: must be from {low} to {high}");
                return Err(Failure::usage(message));
            }
        }
        Ok(())
    }

    /// The CPU of each worker: thread i on the i-th allowed one, over again when they run out.
    pub fn cpus(&self) -> Vec<Option<usize>> {
        let allowed = process::allowed_cpus();
        let cpu = |thread: usize| {
            let place = thread.checked_rem(allowed.len())?;
            self.pin.then(|| allowed[place])
        };
        (0..self.threads).map(cpu).collect()
    }
}

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

/// What this process used.
#[derive(Clone, Copy, Debug)]
pub struct OwnUsage {
    /// CPU seconds.
    pub cpu_s: f64,
    /// Times that a thread gave up its CPU.
    pub voluntary_switches: u64,
    /// Times that a thread was made to.
    pub involuntary_switches: u64,
}

/// The host at one moment.
struct Sample {
    server: Option<ProcessTree>,
    beside: Vec<Option<ProcessTree>>,
    kernel: KernelThreads,
    times: CpuTimes,
    own_cpu_s: f64,
    own_switches: (u64, u64),
    wall_clock_offset_ns: i128,
    ticks: u64,
}

impl Sample {
    fn take(clock: &Clock, server: Option<&ProcessTree>, beside: &[ProcessTree]) -> Self {
        Self {
            server: server.and_then(ProcessTree::again),
            beside: beside.iter().map(ProcessTree::again).collect(),
            kernel: KernelThreads::read(),
            times: CpuTimes::read(),
            own_cpu_s: process::process_cpu_s(),
            own_switches: process::context_switches(),
            wall_clock_offset_ns: process::wall_clock_offset_ns(),
            ticks: clock.ticks(),
        }
    }

    /// What this process used since an earlier sample.
    fn own_since(&self, earlier: &Self) -> OwnUsage {
        let ((voluntary, involuntary), then) = (self.own_switches, earlier.own_switches);
        OwnUsage {
            cpu_s: self.own_cpu_s - earlier.own_cpu_s,
            voluntary_switches: voluntary - then.0,
            involuntary_switches: involuntary - then.1,
        }
    }

    /// CPU seconds of the server and what stands beside it.
    fn trees_cpu_s_since(&self, earlier: &Self) -> f64 {
        let trees = |sample: &Self| {
            std::iter::once(sample.server.clone()).chain(sample.beside.clone()).collect::<Vec<_>>()
        };
        let pairs = trees(self).into_iter().zip(trees(earlier));
        pairs.filter_map(|(now, then)| Some(now?.cpu_s_since(&then?))).sum()
    }
}

/// Releases the workers when all are ready: with the window, or without one to send them home.
struct Gate {
    barrier: Barrier,
    window: OnceLock<Window>,
}

impl Measurement<'_> {
    /// Makes a unit on each worker's own thread, calls `ready`, and measures.
    pub fn run<'u>(
        &self,
        make_unit: impl Fn(usize) -> Result<Box<dyn Unit + 'u>, Failure> + Sync,
        ready: impl FnOnce(&mut Output) -> Result<(), Failure>,
        output: &mut Output,
    ) -> Result<Measured, Failure> {
        let gate = Gate { barrier: Barrier::new(self.cpus.len() + 1), window: OnceLock::new() };
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
            let measured = result.and_then(|window| self.collect(window, &receiver, output));
            if measured.is_err() {
                life::request_stop();
            }
            measured
        })
    }

    fn worker<'u>(
        &self,
        thread: usize,
        make_unit: &(impl Fn(usize) -> Result<Box<dyn Unit + 'u>, Failure> + Sync),
        prepared: &Sender<Result<(), Failure>>,
        gate: &Gate,
        sender: &Sender<Message>,
    ) {
        let unit = self.prepare(thread, make_unit);
        let (unit, result) = match unit {
            Ok(unit) => (Some(unit), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        // The main thread waits for every worker's word, so it is there to hear it.
        let _ = prepared.send(result);
        gate.barrier.wait();
        if let (Some(mut unit), Some(window)) = (unit, gate.window.get()) {
            let (stop, kinds) = (life::stop_flag(), self.kinds.len());
            driver::work(&mut *unit, kinds, self.clock, *window, stop, thread, sender);
        }
    }

    fn prepare<'u>(
        &self,
        thread: usize,
        make_unit: &(impl Fn(usize) -> Result<Box<dyn Unit + 'u>, Failure> + Sync),
    ) -> Result<Box<dyn Unit + 'u>, Failure> {
        if let Some(cpu) = self.cpus[thread]
            && !process::pin_thread(cpu)
        {
            return Err(Failure::Missing {
                message: format!("worker {thread} cannot be pinned to CPU {cpu}"),
                next: "run with \"pin\": false".to_owned(),
            });
        }
        make_unit(thread)
    }

    fn open(&self, gate: &Gate, output: &mut Output) -> Result<Window, Failure> {
        output.write("phase", &Phase { name: "warmup" })?;
        let ticks = |ms: u64| self.clock.ticks_of_ns(ms * NS_PER_MS);
        let start = self.clock.ticks() + ticks(self.schedule.warmup_ms);
        let end = start + ticks(self.schedule.window_ms);
        let interval = ticks(self.schedule.interval_ms).max(1);
        Ok(*gate.window.get_or_init(|| Window { start, end, interval }))
    }

    fn collect(
        &self,
        window: Window,
        receiver: &Receiver<Message>,
        output: &mut Output,
    ) -> Result<Measured, Failure> {
        let mut collector = Collector::new(self, window);
        loop {
            collector.sample_when_due(output)?;
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
}

impl<'a> Collector<'a> {
    fn new(measurement: &'a Measurement<'a>, window: Window) -> Self {
        Self {
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

    fn sample_when_due(&mut self, output: &mut Output) -> Result<(), Failure> {
        let clock = &self.measurement.clock;
        if self.opening.is_none() && clock.ticks() >= self.window.start {
            self.opening = Some(self.sample());
            output.write("phase", &Phase { name: "measure" })?;
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
        Sample::take(&self.measurement.clock, server, &self.measurement.beside)
    }

    fn until_due(&self) -> Duration {
        let clock = &self.measurement.clock;
        let due = match (&self.opening, &self.closing) {
            (None, _) => self.window.start,
            (_, None) => self.window.end,
            _ => return Duration::from_millis(100),
        };
        Duration::from_nanos(clock.ns_between(clock.ticks(), due))
    }

    fn take(&mut self, message: Message, output: &mut Output) -> Result<(), Failure> {
        match message {
            Message::Interval(index, recording) => {
                let kinds = self.measurement.kinds.len();
                let (ended, sum) =
                    self.pending.entry(index).or_insert_with(|| (0, Recording::new(kinds)));
                *ended += 1;
                sum.add(&recording)?;
                // Workers that were stopped hand in an interval before its end: `finish` writes it.
                let end = self.window.interval_end(index);
                let is_over = self.measurement.clock.ticks() >= end;
                if *ended == self.measurement.cpus.len() && is_over {
                    self.write_interval(index, end, output)?;
                }
            }
            Message::Finished(thread, report) => {
                self.reports.insert(thread, *report);
            }
            Message::Failed(failure) => return Err(failure),
        }
        Ok(())
    }

    /// Writes an interval that ends at `end`, unless it ends before it begins (a run stopped in its
    /// warm-up).
    fn write_interval(
        &mut self,
        index: usize,
        end: u64,
        output: &mut Output,
    ) -> Result<(), Failure> {
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
        };
        output.write("interval", &message)
    }

    /// When the last worker stopped early; the far future while none has.
    fn stopped_at(&self) -> u64 {
        let early = self.reports.values().filter(|report| !report.is_complete);
        early.map(|report| report.last_ticks).max().unwrap_or(u64::MAX)
    }

    fn finish(mut self, output: &mut Output) -> Result<Measured, Failure> {
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
        let health = self.health(&opening, &closing, &cpus, operations as f64, window_s);
        let reports: Vec<WorkerReport> = self.reports.into_values().collect();
        let mut counts = Counts::default();
        reports.iter().for_each(|report| counts.add(&report.counts));
        let recording = self.total;
        let (server, own) = (self.server, closing.own_since(&opening));
        Ok(Measured {
            is_complete,
            window_s,
            recording,
            reports,
            counts,
            health,
            cpus,
            server,
            own,
        })
    }

    fn health(
        &self,
        opening: &Sample,
        closing: &Sample,
        cpus: &[CpuShare],
        operations: f64,
        window_s: f64,
    ) -> Health {
        let clock = &self.measurement.clock;
        let sampled_s = clock.ns_between(opening.ticks, closing.ticks) as f64 / 1e9;
        let per_s = |amount: f64, seconds: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let own_cpu_s = closing.own_cpu_s - opening.own_cpu_s;
        let kernel_cpu_s = closing.kernel.cpu_s_since(&opening.kernel);
        let known_cpu_s = own_cpu_s + closing.trees_cpu_s_since(opening) + kernel_cpu_s;
        let foreign_s = closing.times.busy_s_since(&opening.times) - known_cpu_s;
        let step_ns = closing.wall_clock_offset_ns - opening.wall_clock_offset_ns;
        Health {
            loader: "in-process",
            busiest_thread: None,
            late_sends: None,
            asked_per_s: None,
            achieved_per_s: per_s(operations, window_s),
            server_idle: self.idle_share(cpus),
            foreign_cpu: per_s(foreign_s.max(0.0), sampled_s),
            steal: per_s(closing.times.steal_s_since(&opening.times), sampled_s),
            clock_step_ms: step_ns as f64 / NS_PER_MS as f64,
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
