//! The frame of every kind: a function that carries out operations, called by every thread.
//!
//! A kind brings the function, what a thread gives it, and how to tell afterwards that all was
//! carried out; timing, counting, phases and messages are the same for all and are here.
//!
//! Operations are timed together, so many that the clock and the record of a batch are nothing beside
//! it. How many follows from the least that an operation of the workload can take, not from what it
//! takes here: it is the same for all arms, and so their latencies are of the same.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Clock};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::MicroRequest;
use crate::protocol::response::{MicroManifest, Ran, State};
use crate::verbs::arena_memory;
use crate::verbs::run::{Ending, Run, Subject, ran};
use assay_measure::Measured;
use assay_measure::{Counts, Done, Timed, Unit};

/// What a batch takes at least: 500 times what its clock read and record take.
const BATCH_NS: f64 = 16_000.0;
const TIMED_MAX: u64 = 1 << 16;

/// A kind of micro workload, ready to run.
pub trait Kind: Sync {
    /// Its name: of the workload, of the histogram, and the role of its function.
    const NAME: &'static str;

    /// What no operation of the workload is faster than, in nanoseconds, by whatever choice.
    fn least_ns(&self) -> f64;

    /// The run-time address of the function under test.
    fn address(&self) -> Address;

    /// What was really chosen and obtained, for the manifest: an object.
    fn chosen(&self) -> Value;

    /// What the kernel gave for the memory that the function works on.
    fn memory(&self) -> Result<Mapped, Failure>;

    /// What one thread does.
    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure>;

    /// Whether what is left afterwards agrees with the operations carried out in total.
    fn is_sound(&mut self, _executed: u64) -> bool {
        true
    }

    /// The function under test, and how often it was called.
    fn ran(&self, counts: &Counts) -> Ran {
        ran(Self::NAME, self.address(), counts.executed)
    }
}

/// One thread's part of a kind.
pub trait Share {
    /// Carries out operations, and says whether their outcome was right.
    fn run(&mut self, times: u64) -> bool;

    /// The same, but may give up after some, and says after how many.
    fn try_run(&mut self, times: u64) -> (u64, bool) {
        (times, self.run(times))
    }

    /// What was counted beside operations.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// How many operations are timed together.
fn timed(least_ns: f64) -> u64 {
    ((BATCH_NS / least_ns).ceil() as u64).next_power_of_two().clamp(1, TIMED_MAX)
}

/// Makes the kind, and measures it unless the request only checks.
pub fn run<K: Kind>(
    request: &MicroRequest,
    output: &mut Output,
    make: impl FnOnce(&Run<'_>) -> Result<K, Failure>,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let run = Run::begin("micro", &schedule, request.check_only, output)?;
    let kind = make(&run)?;
    let (timed, totals) = (timed(kind.least_ns()), Totals::default());
    run.measure(Framed { request, clock: run.clock, kind, timed, totals }, output)
}

struct Framed<'a, K> {
    request: &'a MicroRequest,
    clock: Clock,
    kind: K,
    timed: u64,
    totals: Totals,
}

impl<K: Kind> Subject for Framed<'_, K> {
    type Manifest = MicroManifest;

    fn kinds(&self) -> Vec<&'static str> {
        vec![K::NAME]
    }

    fn timed(&self) -> Option<Timed> {
        Some(Timed { ends: 1, operations: self.timed })
    }

    fn unit(&self, thread: usize) -> Result<Box<dyn Unit + '_>, Failure> {
        let extras = Extras { every: self.request.parts.repeat_every, passed: 0 };
        let share = self.kind.share(thread)?;
        let (clock, timed, totals) = (self.clock, self.timed, &self.totals);
        Ok(Box::new(FrameUnit { share, timed, clock, extras, executed: 0, totals }))
    }

    fn manifest(&self, run: &Run<'_>) -> Result<MicroManifest, Failure> {
        Ok(MicroManifest {
            chosen: self.kind.chosen(),
            pages: self.request.parts.pages.name(),
            repeat_every: self.request.parts.repeat_every,
            memory: arena_memory(self.kind.memory()?),
            placed: run.placed(),
            load_s: run.since_s(),
        })
    }

    fn ending(&mut self, _: &Run<'_>, measured: &mut Measured) -> Result<Ending, Failure> {
        let executed = *self.totals.executed.get_mut();
        let is_right = self.kind.is_sound(executed) && !*self.totals.has_mismatch.get_mut();
        Ok(Ending {
            ran: vec![self.kind.ran(&measured.counts)],
            memory: Some(self.kind.memory()?),
            ..Ending::of(State::of(executed, is_right))
        })
    }
}

#[derive(Default)]
struct Totals {
    executed: AtomicU64,
    has_mismatch: AtomicBool,
}

/// How many operations are to be carried out beside the counted ones.
struct Extras {
    every: u64,
    passed: u64,
}

impl Extras {
    #[inline(always)]
    fn among(&mut self, counted: u64) -> u64 {
        if self.every == 0 {
            return 0;
        }
        self.passed += counted;
        let extras = self.passed / self.every;
        self.passed %= self.every;
        extras
    }
}

struct FrameUnit<'a> {
    share: Box<dyn Share + 'a>,
    timed: u64,
    clock: Clock,
    extras: Extras,
    executed: u64,
    totals: &'a Totals,
}

impl Unit for FrameUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        let (operations, mut is_right) = self.share.try_run(self.timed);
        let extras = self.extras.among(operations);
        if extras > 0 {
            is_right &= self.share.run(extras);
        }
        self.executed += operations + extras;
        if !is_right {
            self.totals.has_mismatch.store(true, Ordering::Relaxed);
        }
        let end_ticks = self.clock.ticks();
        done.push(Done { operations, is_error: !is_right, ..Done::at(end_ticks) });
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { executed: self.executed, ..self.share.counts() }
    }
}

impl Drop for FrameUnit<'_> {
    fn drop(&mut self) {
        self.totals.executed.fetch_add(self.executed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The obvious twin: one operation at a time.
    #[test]
    fn extras_are_one_after_every_n_counted_operations() {
        for every in [0, 1, 3, 33, 64, 100] {
            let mut extras = Extras { every, passed: 0 };
            let total: u64 = (0..1000).map(|_| extras.among(64)).sum();
            let twin = (1..=64_000_u64).filter(|n| every > 0 && n.is_multiple_of(every)).count();
            assert_eq!(total, twin as u64, "every {every}");
        }
    }

    #[test]
    fn a_batch_takes_long_however_fast_its_operations_are() {
        for least_ns in [0.25, 1.0, 41.0, 655.0, 10_486.0, 20_000.0, 1e9] {
            let together = timed(least_ns) as f64;
            assert!(together * least_ns >= BATCH_NS, "{together} of {least_ns} ns");
        }
        assert_eq!(timed(20_000.0), 1);
        assert_eq!(timed(0.0001), TIMED_MAX);
    }
}
