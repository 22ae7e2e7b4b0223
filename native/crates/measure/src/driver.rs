//! The timed loop of one worker thread.
//!
//! A `Unit` carries out operations in small batches and stamps the end of each with one clock read;
//! an operation's latency is the time since the stamp before it, or since its user was due where
//! users wait between requests. The worker finds the window and
//! its intervals by comparing stamps with times fixed beforehand: no flag is written to tell it,
//! and the stop flag it reads between batches is only ever written to end the run early.
//!
//! An operation belongs to the interval in which it ended. Counters of the unit (contention, CPU
//! time) are read at the first batch that ends inside the window and after the last, so they
//! may differ from the counted operations by one batch per thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use assay_primitives::Clock;
use assay_sampler::process;

use crate::done::{Counts, Done, Timed, Unit};
use crate::recorder::Recording;
use crate::slices::{Span, Spans};
use crate::{NS_PER_MS, Result};

/// The window in clock ticks.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// When measuring starts.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Length of an interval.
    pub interval: u64,
}

impl Window {
    /// Opens at no time.
    const NEVER: Self = Self { start: u64::MAX, end: u64::MAX, interval: u64::MAX };

    /// The end of interval `index`: the last one ends with the window.
    pub fn interval_end(&self, index: usize) -> u64 {
        self.start.saturating_add((index as u64 + 1).saturating_mul(self.interval)).min(self.end)
    }
}

/// What a worker tells the main thread.
pub enum Message {
    /// An interval is over for this thread.
    Interval(usize, Recording),
    /// The thread is through.
    Finished(usize, Box<WorkerReport>),
    /// The thread cannot go on.
    Failed(anyhow::Error),
}

/// The end of one worker.
#[derive(Clone, Debug)]
pub struct WorkerReport {
    /// Whether the window was over, not cut short.
    pub is_complete: bool,
    /// The last stamp.
    pub last_ticks: u64,
    /// CPU seconds used inside the window.
    pub cpu_s: f64,
    /// What was counted inside the window.
    pub counts: Counts,
    /// Operations recorded inside the window.
    pub operations: u64,
}

/// Carries out nothing, and stamps and tells as much as other units do.
struct Empty(Timed, Clock);

impl Unit for Empty {
    fn run(&mut self, done: &mut Vec<Done>) -> Result<()> {
        for _ in 0..self.0.ends {
            done.push(Done { operations: self.0.operations, ..Done::at(self.1.ticks()) });
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// Times that the empty loop is measured: the shortest was not interrupted.
const EMPTY_LOOPS: usize = 8;
const EMPTY_NS: u64 = 500_000;

/// What measuring takes of an operation's time, in nanoseconds: the loop around nothing, with its
/// clock reads and its records.
pub fn overhead_ns(timed: Timed, clock: Clock) -> Result<f64> {
    let (sender, _receiver) = std::sync::mpsc::channel();
    let (mut least, mut measured, mut long) = (f64::INFINITY, 0, clock.ticks_of_ns(EMPTY_NS));
    while measured < EMPTY_LOOPS {
        let mut worker = Worker::new(1, clock, Window::NEVER, &sender);
        // Opened now: the recordings that the worker makes for itself are no part of the loop.
        let start = clock.ticks();
        worker.open(Window { start, end: start.saturating_add(long), interval: u64::MAX });
        let report = worker.run(&mut Empty(timed, clock), &AtomicBool::new(false))?;
        if report.operations == 0 {
            // Not one batch ended in time: an emulator's clock is slow to read.
            long = long.saturating_mul(2);
            continue;
        }
        let ns = clock.ns_between(start, report.last_ticks) as f64;
        least = least.min(ns / report.operations as f64);
        measured += 1;
    }
    Ok(least)
}

/// Recordings made beforehand, so that intervals do not start with page faults.
const SPARES: usize = 4;

struct Worker<'a> {
    clock: Clock,
    window: Window,
    kinds: usize,
    sender: &'a Sender<Message>,
    spares: Vec<Recording>,
    recording: Recording,
    interval: usize,
    interval_end: u64,
    operations: u64,
    opening: Option<(Counts, f64)>,
    /// Whether what is recorded now is part of the window.
    counts_interval: bool,
    /// When the slice began, of which the first moments do not count.
    opened: Option<u64>,
}

/// Drives a unit from now until the end of the window, or until `stop`.
pub fn work(
    unit: &mut dyn Unit,
    kinds: usize,
    clock: Clock,
    window: Window,
    stop: &AtomicBool,
    thread: usize,
    sender: &Sender<Message>,
) {
    let mut worker = Worker::new(kinds, clock, window, sender);
    let message = match worker.run(unit, stop) {
        Ok(report) => Message::Finished(thread, Box::new(report)),
        Err(error) => Message::Failed(error),
    };
    // The main thread keeps the receiver until every worker is through.
    let _ = sender.send(message);
}

/// The same in slices: the unit works in the spans that are opened, of which `slices` count.
pub fn work_in_slices(
    unit: &mut dyn Unit,
    kinds: usize,
    clock: Clock,
    spans: &Spans,
    slices: usize,
    stop: &AtomicBool,
    (thread, sender): (usize, &Sender<Message>),
) {
    let mut worker = Worker::new(kinds, clock, Window::NEVER, sender);
    let message = match worker.run_in_slices(unit, spans, slices, stop) {
        Ok(report) => Message::Finished(thread, Box::new(report)),
        Err(error) => {
            // The conductor waits for every worker to rest: it must not wait for this one.
            spans.finish();
            Message::Failed(error)
        }
    };
    // The main thread keeps the receiver until every worker is through.
    let _ = sender.send(message);
}

impl<'a> Worker<'a> {
    fn new(kinds: usize, clock: Clock, window: Window, sender: &'a Sender<Message>) -> Self {
        let new = || Recording::new(kinds);
        let spares = (0..SPARES).map(|_| new()).collect();
        let interval_end = window.interval_end(0);
        Self {
            clock,
            window,
            kinds,
            sender,
            spares,
            recording: new(),
            interval: 0,
            interval_end,
            operations: 0,
            opening: None,
            counts_interval: true,
            opened: None,
        }
    }

    fn run(&mut self, unit: &mut dyn Unit, stop: &AtomicBool) -> Result<WorkerReport> {
        let mut done = Vec::with_capacity(64);
        let mut is_complete = false;
        let mut last = self.clock.ticks();
        while !is_complete && !stop.load(Ordering::Relaxed) {
            done.clear();
            // What happened since the last stamp was bookkeeping, not part of an operation.
            last = self.clock.ticks();
            unit.run(&mut done)?;
            for end in &done {
                is_complete = self.place(end, last);
                last = end.end_ticks;
                if is_complete {
                    break;
                }
            }
            if done.is_empty() {
                last = self.clock.ticks();
                is_complete = self.reach(last);
            }
            if self.opening.is_none() && last >= self.window.start {
                self.opening = Some((unit.counts(), process::thread_cpu_s()));
            }
        }
        if !is_complete {
            self.ship();
        }
        Ok(self.report(unit, is_complete, last))
    }

    fn run_in_slices(
        &mut self,
        unit: &mut dyn Unit,
        spans: &Spans,
        slices: usize,
        stop: &AtomicBool,
    ) -> Result<WorkerReport> {
        let (mut done, mut seen, mut whole) = (Vec::with_capacity(64), 0, 0);
        let mut last = self.clock.ticks();
        while let Some((number, span)) = spans.next(seen) {
            seen = number;
            if span.index.is_some() && self.opening.is_none() {
                self.opening = Some((unit.counts(), process::thread_cpu_s()));
            }
            self.enter(span);
            unit.resume(span.end);
            let mut is_over = false;
            while !is_over && !stop.load(Ordering::Relaxed) {
                done.clear();
                last = self.clock.ticks();
                unit.run(&mut done)?;
                for end in &done {
                    is_over = self.place(end, last);
                    last = end.end_ticks;
                    if is_over {
                        break;
                    }
                }
                if done.is_empty() {
                    last = self.clock.ticks();
                    is_over = self.reach(last);
                }
            }
            unit.hold()?;
            whole += usize::from(is_over && span.index.is_some());
        }
        Ok(self.report(unit, whole == slices, last))
    }

    fn open(&mut self, window: Window) {
        self.window = window;
        self.interval_end = window.interval_end(0);
    }

    /// Makes a span the window: the warm-up has none, and ends all the same.
    fn enter(&mut self, span: Span) {
        self.open(Window { start: span.start, end: span.end, interval: u64::MAX });
        self.counts_interval = span.index.is_some();
        self.opened = Some(span.opened);
        self.interval = span.index.unwrap_or_default();
    }

    /// Records one end in the interval it belongs to; true when it lies beyond the window.
    #[inline]
    fn place(&mut self, done: &Done, last: u64) -> bool {
        if done.end_ticks < self.window.start {
            if self.counts_interval
                && let Some(opened) = self.opened
            {
                let ns = self.clock.ns_between(opened, done.end_ticks);
                self.recording.count_early((ns / NS_PER_MS) as usize, done.operations);
            }
            return done.end_ticks >= self.window.end;
        }
        if self.reach(done.end_ticks) {
            return true;
        }
        let since = done.since.unwrap_or(last);
        // Operations of a pipeline were all waited for as long as the last.
        // A batch may hold nothing but an extra that is not counted.
        let shared = if done.sent.is_some() { 1 } else { done.operations.max(1) };
        let ns = self.clock.ns_between(since, done.end_ticks) / shared;
        // An extra takes every step that an operation takes, and counts zero times: of n + 1
        // operations one is missing, and nothing else differs, not even a branch.
        let counted = done.operations * u64::from(!done.is_extra);
        self.recording.record(done.kind, ns, counted, done.is_error);
        if let Some(sent) = done.sent {
            let service_ns = self.clock.ns_between(sent.ticks, done.end_ticks);
            let late_ns = self.clock.ns_between(since, sent.ticks);
            self.recording.record_send(service_ns, sent.was_idle.then_some(late_ns), counted);
            self.recording.record_refusal(sent.refused);
        }
        self.operations += counted;
        false
    }

    /// Ends the intervals that lie before `ticks`; true when the window does.
    #[inline]
    fn reach(&mut self, ticks: u64) -> bool {
        while ticks >= self.interval_end {
            self.ship();
            if self.interval_end == self.window.end {
                return true;
            }
            self.interval += 1;
            self.interval_end = self.window.interval_end(self.interval);
        }
        false
    }

    fn ship(&mut self) {
        if !self.counts_interval {
            return;
        }
        let next = self.spares.pop().unwrap_or_else(|| Recording::new(self.kinds));
        let full = std::mem::replace(&mut self.recording, next);
        // The main thread keeps the receiver until every worker is through.
        let _ = self.sender.send(Message::Interval(self.interval, full));
    }

    fn report(&self, unit: &dyn Unit, is_complete: bool, last_ticks: u64) -> WorkerReport {
        let now = unit.counts();
        let (opening, cpu_s) =
            self.opening.clone().unwrap_or_else(|| (now.clone(), process::thread_cpu_s()));
        WorkerReport {
            is_complete,
            last_ticks,
            cpu_s: process::thread_cpu_s() - cpu_s,
            counts: now.since(&opening),
            operations: self.operations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a batch of so many operations at each call.
    struct Batches(Clock, u64);

    impl Unit for Batches {
        fn run(&mut self, done: &mut Vec<Done>) -> Result<()> {
            done.push(Done { operations: self.1, ..Done::at(self.0.ticks()) });
            Ok(())
        }

        fn counts(&self) -> Counts {
            Counts::default()
        }
    }

    /// What an emulator does not show, where a clock read may take a millisecond.
    mod unemulated {
        use super::*;

        #[test]
        fn the_empty_loop_costs_something_and_less_the_more_are_timed_together() {
            let clock = Clock::calibrated();
            let one = overhead_ns(Timed { ends: 16, operations: 1 }, clock).unwrap();
            let many = overhead_ns(Timed { ends: 1, operations: 16_384 }, clock).unwrap();
            assert!(many > 0.0 && many < one / 100.0, "{many} {one}");
        }
    }

    #[test]
    fn a_batch_in_which_nothing_counts_is_no_division_by_zero() {
        let clock = Clock::calibrated();
        let now = clock.ticks();
        let window = Window { start: now, end: now + clock.ticks_of_ns(1_000_000), interval: now };
        let (sender, receiver) = std::sync::mpsc::channel();
        work(&mut Batches(clock, 0), 1, clock, window, &AtomicBool::new(false), 0, &sender);
        drop(sender);
        let counted: Vec<u64> = receiver
            .iter()
            .filter_map(|message| match message {
                Message::Finished(_, report) => Some(report.operations),
                _ => None,
            })
            .collect();
        assert_eq!(counted, [0]);
    }
}
