//! The frame of most kinds: a function that carries out operations, called by every thread.
//!
//! A kind brings the function, what a thread gives it, and how to tell afterwards that all was
//! carried out; timing, counting, phases and messages are the same for all and are here. Operations
//! of a few ns are timed 64 together, as locks are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use assay_primitives::{Address, Arena, Clock};
use serde_json::Value;

use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::measure::Measurement;
use crate::output::Output;
use crate::protocol::request::{MicroRequest, Schedule};
use crate::protocol::response::{Checked, MicroManifest, Phase, Ready, State};
use crate::verbs::{Ending, arena_memory, clock_response, own_build_id, ran, result};

/// Operations timed together where one is too short to time; `latency_of` names the number.
pub const SHORT: u64 = 64;
/// Clock reads per batch, between two looks at the stop flag.
const TIMED_PER_BATCH: usize = 4;

/// A kind of micro workload, ready to run.
pub trait Kind: Sync {
    /// Its name: of the workload, of the histogram, and the role of its function.
    const NAME: &'static str;

    /// Operations that are timed together: 1 or `SHORT`.
    const TIMED: u64;

    /// The run-time address of the function under test.
    fn address(&self) -> Address;

    /// What was really chosen and obtained, for the manifest.
    fn chosen(&self) -> Vec<(&'static str, Value)>;

    /// The memory that the function works on.
    fn arena(&self) -> &Arena;

    /// What one thread does.
    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure>;

    /// Whether what is left afterwards agrees with the operations carried out in total.
    fn is_sound(&mut self, _executed: u64) -> bool {
        true
    }
}

/// One thread's part of a kind.
pub trait Share {
    /// Carries out operations, and says whether their outcome was right.
    fn run(&mut self, times: u64) -> bool;
}

/// Makes the kind, and measures it unless the request only checks.
pub fn run<K: Kind>(
    request: &MicroRequest,
    output: &mut Output,
    make: impl FnOnce(&Schedule) -> Result<K, Failure>,
) -> Result<(), Failure> {
    let schedule = request.schedule();
    let clock = Clock::calibrated();
    output.write("phase", &Phase { name: "load" })?;
    let started = Instant::now();
    let mut kind = make(&schedule)?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let totals = Totals::default();
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &[K::NAME],
        clock,
        server: None,
        beside: Vec::new(),
    };
    let every = request.parts.repeat_every;
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        let extras = Extras { every, passed: 0 };
        let (share, totals) = (kind.share(thread)?, &totals);
        Ok(Box::new(FrameUnit { share, timed: K::TIMED, clock, extras, executed: 0, totals }))
    };
    let ready = |output: &mut Output| {
        let manifest = manifest(request, &kind, &measurement, started)?;
        let build_id = own_build_id()?;
        let ready = Ready { verb: "micro", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let executed = totals.executed.into_inner();
    let is_sound = kind.is_sound(executed);
    let ending = Ending {
        latency_of: if K::TIMED == 1 { "operations" } else { "batches of 64" },
        ran: vec![ran(K::NAME, kind.address(), measured.counts.executed)],
        memory: Some(kind.arena().obtained()?),
        state: State::of(executed, is_sound && !totals.has_mismatch.into_inner()),
    };
    output.write("result", &result(&measurement, &measured, ending)?)
}

fn manifest<K: Kind>(
    request: &MicroRequest,
    kind: &K,
    measurement: &Measurement<'_>,
    started: Instant,
) -> Result<MicroManifest, Failure> {
    Ok(MicroManifest {
        lock: None,
        crc32c: None,
        chosen: BTreeMap::from_iter(kind.chosen()),
        pages: request.parts.pages.name(),
        repeat_every: request.parts.repeat_every,
        threads: measurement.cpus.len(),
        cpus: measurement.cpus.to_vec(),
        memory: arena_memory(kind.arena().obtained()?),
        clock: clock_response(&measurement.clock),
        load_s: started.elapsed().as_secs_f64(),
    })
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
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        for _ in 0..TIMED_PER_BATCH {
            let times = self.timed + self.extras.among(self.timed);
            let is_right = self.share.run(times);
            let end_ticks = self.clock.ticks();
            self.executed += times;
            if !is_right {
                self.totals.has_mismatch.store(true, Ordering::Relaxed);
            }
            let operations = self.timed;
            done.push(Done {
                since: None,
                end_ticks,
                kind: 0,
                operations,
                is_error: !is_right,
                is_extra: false,
                sent: None,
            });
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { executed: self.executed, ..Counts::default() }
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
}
