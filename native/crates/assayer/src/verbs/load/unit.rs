//! A station as a unit of the measurement.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use assay_load::{Arrivals, Rate, Refusals, Station};
use assay_primitives::Clock;
use assay_runtime::Backend;

use crate::failure::Failure;
use crate::life;
use assay_measure::{Counts, Done, Sent, Unit};

/// How long a station works where nothing ends.
const TURN_MS: u64 = 10;
const NS_PER_MS: u64 = 1_000_000;

/// The counter of time that went into waiting for times.
pub const SPUN: &str = "spun_ns";

/// What the threads of one load share.
pub struct Common {
    pub clock: Clock,
    pub rate: Option<Rate>,
    pub threads: usize,
    pub seed: u64,
    /// What ended the run early.
    pub ended_by: Mutex<Option<String>>,
    /// What the server said to requests that it refused.
    pub refusals: Mutex<Refusals>,
    /// The kernel's interfaces that the workers use.
    pub backends: Mutex<BTreeSet<&'static str>>,
}

impl Common {
    /// Notes what a worker uses.
    pub fn uses(&self, backend: Backend) {
        self.backends.lock().unwrap_or_else(PoisonError::into_inner).insert(backend.name());
    }

    /// What the workers use: where a limit let some have the one and others not, both.
    pub fn backend(&self) -> String {
        let names = self.backends.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().copied().collect::<Vec<_>>().join("+")
    }
}

/// One thread's connections.
pub struct LoadUnit<'a> {
    pub station: Station,
    pub common: &'a Common,
    pub thread: usize,
    pub has_started: bool,
    /// When the span under way ends, in clock ticks.
    pub until: u64,
}

impl LoadUnit<'_> {
    fn start(&mut self) {
        let Common { clock, rate, threads, seed, .. } = *self.common;
        let now = clock.ticks();
        let arrivals = rate.map(|rate| Arrivals::new(rate, self.thread, threads, now, clock, seed));
        self.station.start(arrivals);
        self.has_started = true;
    }
}

impl Unit for LoadUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        if !self.has_started {
            self.start();
        }
        let Self { station, common, until, .. } = self;
        let left_ns = common.clock.ns_between(common.clock.ticks(), *until);
        let turn_ns = left_ns.min(TURN_MS * NS_PER_MS);
        let result = station.run_some(turn_ns, life::stop_flag(), |ended| {
            // Each thread has met the server's codes in an order of its own.
            let refusal = ended.refused.and_then(|place| station.refusal(place));
            let refused =
                refusal.and_then(|refusal| Some(common.refusals.lock().ok()?.place(refusal)));
            done.push(Done {
                since: Some(ended.intended),
                kind: ended.kind,
                operations: ended.operations.into(),
                is_error: ended.refused.is_some(),
                sent: Some(Sent { ticks: ended.sent, was_idle: ended.was_idle, refused }),
                ..Done::at(ended.end)
            });
        });
        if let Err(error) = result {
            // The run ends with what was measured.
            if let Ok(mut ended_by) = common.ended_by.lock() {
                ended_by.get_or_insert(error.to_string());
            }
            life::request_stop();
        }
        Ok(())
    }

    fn resume(&mut self, until: u64) {
        self.until = until;
        if self.has_started {
            self.start();
        }
    }

    fn hold(&mut self) -> anyhow::Result<()> {
        let held = self.station.hold(life::stop_flag());
        Ok(held.map_err(|error| Failure::Missing {
            message: error.to_string(),
            next: "look at the server's log".to_owned(),
        })?)
    }

    fn counts(&self) -> Counts {
        let totals = self.station.totals();
        Counts {
            counters: vec![
                ("requests", totals.requests),
                (SPUN, self.station.spun_ns()),
                ("rolled_back", totals.rolled_back),
                ("refused", totals.refused),
                ("retries.deadlock", totals.retries.deadlocks.into()),
                ("retries.conflict", totals.retries.conflicts.into()),
                ("retries.lock_timeout", totals.retries.lock_timeouts.into()),
                ("retries.duplicate_key", totals.retries.duplicate_keys.into()),
            ],
            executed: totals.operations,
            ..Counts::default()
        }
    }
}

impl Drop for LoadUnit<'_> {
    fn drop(&mut self) {
        self.station.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_workers_that_ran_use_is_told_of_all() {
        let (rate, threads, seed) = (None, 2, 1);
        let (ended_by, refusals, backends) = Default::default();
        let clock = Clock::calibrated();
        let common = Common { clock, rate, threads, seed, ended_by, refusals, backends };
        common.uses(Backend::IoUring);
        common.uses(Backend::IoUring);
        assert_eq!(common.backend(), "io_uring");
        common.uses(Backend::Epoll);
        assert_eq!(common.backend(), "epoll+io_uring");
    }
}
