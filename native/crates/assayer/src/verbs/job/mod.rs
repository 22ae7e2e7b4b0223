//! The verb `job`: a command is run to its end, again and again, and each time is measured.
//!
//! Here is the order of things around the executions; `execution` is one of them. The window begins
//! and ends between executions, so nothing is cut; results are written when it is over, because a
//! reader that wakes up for each of them would disturb the next.

mod busiest;
mod children;
mod execution;
mod tail;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_measure::{Sample, empty, encode};
use assay_primitives::Clock;
use assay_sampler::ProcessTree;

use self::execution::{Execution, Outcome};
use super::{cpu_response, server_tree, server_usage, typed};
use crate::failure::Failure;
use crate::life;
use crate::output::Output;
use crate::protocol::request::JobRequest;
use crate::protocol::response::{Health, JobResult, Phase};

const TIME_MS_MAX: u64 = 86_400_000;
const EMPTIES_MAX: usize = 1000;
/// A window ends when so much output is kept.
const KEPT_MAX: usize = 32 << 20;

/// Runs the verb.
pub fn run(request: serde_json::Value, output: &mut Output) -> Result<(), Failure> {
    let request: JobRequest = typed(request)?;
    request.validate()?;
    children::adopt();
    let done = request.helper("before", &request.before).and_then(|()| request.measure(output));
    let cleaned = request.helper("cleanup", &request.cleanup);
    if stopped() {
        return output.write("result", &cut_short()?);
    }
    let (health, result) = done?;
    cleaned?;
    output.write("health", &health)?;
    output.write("result", &result)
}

/// What is told of a run that was to end early.
fn cut_short() -> Result<JobResult, Failure> {
    Ok(JobResult {
        complete: false,
        window_s: 0.0,
        executions: Vec::new(),
        empty: Vec::new(),
        histogram: encode(&empty())?,
        cpus: Vec::new(),
        server: None,
    })
}

impl JobRequest {
    fn validate(&self) -> Result<(), Failure> {
        if self.words.is_empty() || !self.program.is_absolute() {
            return Err(Failure::usage("program is no absolute path, or words is empty"));
        }
        if self.empties > 0 && !self.empty.is_absolute() {
            return Err(Failure::usage("empty is no absolute path"));
        }
        if self.empties > EMPTIES_MAX {
            return Err(Failure::usage(format!("empties is above {EMPTIES_MAX}")));
        }
        let times = [self.patience_ms, self.warmup_ms, self.window_ms];
        if times.iter().any(|ms| *ms > TIME_MS_MAX) || self.patience_ms == 0 {
            let message = format!("a time is above {TIME_MS_MAX} ms, or patience_ms is 0");
            return Err(Failure::usage(message));
        }
        Ok(())
    }

    /// Runs a command that is not timed.
    fn helper(&self, role: &str, words: &[String]) -> Result<(), Failure> {
        let Some(name) = words.first() else { return Ok(()) };
        let execution = Execution::new(name.as_ref(), words, self);
        execution.run(role, false).and_then(|outcome| outcome.required(role, false).map(|_| ()))
    }

    fn measure(&self, output: &mut Output) -> Result<(Health, JobResult), Failure> {
        let command = Execution::new(self.program.as_ref(), &self.words, self);
        output.write("phase", &Phase { name: "warmup" })?;
        let warmup = Instant::now();
        while (warmup.elapsed().as_millis() as u64) < self.warmup_ms && !stopped() {
            self.one(&command)?;
        }
        let mut empty = self.empties(self.empties.div_ceil(2))?;
        output.write("phase", &Phase { name: "measure" })?;
        let clock = Clock::calibrated();
        let (server, beside) = self.processes()?;
        let sample = || Sample::take(&clock, server.as_ref(), &beside, true);
        let (opening, used) = (sample(), children::cpu_s());
        let begun = Instant::now();
        let outcomes = self.window(&command, begun)?;
        let window_s = begun.elapsed().as_secs_f64();
        let (closing, used) = (sample(), children::cpu_s() - used);
        let usage = closing.server.as_ref().zip(opening.server.as_ref());
        let usage = usage.map(|(now, then)| server_usage(now.since(then)));
        empty.extend(self.empties(self.empties / 2)?);
        let cpus = closing.times.shares_since(&opening.times);
        let idle: f64 = cpus.iter().map(|share| share.idle).sum();
        let per_s = |amount: f64| amount / window_s;
        let health = Health {
            loader: if self.server_pid.is_some() { "client" } else { "in-process" },
            busiest_thread: outcomes.iter().filter_map(Outcome::busiest).reduce(f64::max),
            late_sends: None,
            asked_per_s: None,
            achieved_per_s: per_s(outcomes.len() as f64),
            server_idle: idle / cpus.len().max(1) as f64,
            foreign_cpu: per_s((closing.foreign_s_since(&opening) - used).max(0.0)),
            steal: per_s(closing.times.steal_s_since(&opening.times)),
            clock_step_ms: closing.clock_step_ns_since(&opening) as f64 / 1e6,
        };
        let mut histogram = assay_measure::empty();
        for outcome in &outcomes {
            histogram.saturating_record(outcome.wall_ns());
        }
        let result = JobResult {
            complete: true,
            window_s,
            executions: outcomes.into_iter().map(Outcome::told).collect(),
            empty: empty.into_iter().map(Outcome::told).collect(),
            histogram: encode(&histogram)?,
            cpus: cpus.iter().map(cpu_response).collect(),
            server: usage,
        };
        Ok((health, result))
    }

    /// The server that the command puts load on, if it does, and what stands beside it.
    fn processes(&self) -> Result<(Option<ProcessTree>, Vec<ProcessTree>), Failure> {
        let server = self.server_pid.map(|pid| server_tree("server_pid", pid)).transpose()?;
        let beside = self.beside_pids.iter().map(|pid| server_tree("beside_pids", *pid));
        Ok((server, beside.collect::<Result<_, _>>()?))
    }

    /// Executions until the window is over, one at least.
    fn window(&self, command: &Execution, begun: Instant) -> Result<Vec<Outcome>, Failure> {
        let window = Duration::from_millis(self.window_ms);
        let (mut outcomes, mut kept) = (Vec::new(), 0);
        while outcomes.is_empty() || (begun.elapsed() < window && kept < KEPT_MAX) {
            if stopped() {
                break;
            }
            let outcome = self.one(command)?;
            kept += outcome.kept();
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn one(&self, command: &Execution) -> Result<Outcome, Failure> {
        self.helper("prepare", &self.prepare)?;
        command.run("the command", self.keep_output)?.required("the command", self.any_code)
    }

    fn empties(&self, times: usize) -> Result<Vec<Outcome>, Failure> {
        let words = ["true".to_owned()];
        let command = Execution::new(self.empty.as_ref(), &words, self);
        let role = "the empty process";
        (0..times).map(|_| command.run(role, false)?.required(role, true)).collect()
    }
}

fn stopped() -> bool {
    life::stop_flag().load(Ordering::Relaxed)
}
