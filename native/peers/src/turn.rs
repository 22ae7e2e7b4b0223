//! One turn of one contestant: warm up, start together, work for a given time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use assay_workload::Operation;

use crate::host;
use crate::inputs::Inputs;
use crate::peer::{BATCH, Peer, Session};

/// How long the parts of a turn last.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Before the clock runs: the turn before left the caches full of its own data.
    pub warm_up: Duration,
    /// While the clock runs.
    pub timed: Duration,
}

/// What was done while the clock ran.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Operations of all threads.
    pub operations: u64,
    /// The time of the thread that took longest.
    pub seconds: f64,
}

/// Runs `work` on pinned threads and adds up what they did. `work` gets the thread's number and
/// the gate that it must pass between warming up and working.
pub fn on_threads(
    threads: usize,
    cpus: &[usize],
    work: impl Fn(usize, &Gate) -> Result<Turn> + Sync,
) -> Result<Turn> {
    if threads > cpus.len() {
        bail!("{threads} threads on {} CPUs: give fewer with --threads", cpus.len());
    }
    let gate = Gate::new(threads);
    let outcomes: Vec<Result<Turn>> = std::thread::scope(|scope| {
        let thread = |number: usize| {
            let (gate, work) = (&gate, &work);
            scope.spawn(move || {
                let outcome = host::pin(cpus[number]).and_then(|()| work(number, gate));
                if outcome.is_err() {
                    gate.give_up();
                }
                outcome
            })
        };
        let spawned: Vec<_> = (0..threads).map(thread).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread of the race panicked")))
        };
        spawned.into_iter().map(join).collect()
    });
    let mut sum = Turn { operations: 0, seconds: 0.0 };
    for outcome in outcomes {
        let turn = outcome?;
        sum.operations += turn.operations;
        sum.seconds = sum.seconds.max(turn.seconds);
    }
    Ok(sum)
}

/// Where threads wait for each other. Unlike a barrier it lets go when one of them has failed.
#[derive(Debug)]
pub struct Gate {
    expected: usize,
    arrived: AtomicUsize,
    is_broken: AtomicBool,
}

impl Gate {
    fn new(expected: usize) -> Self {
        Self { expected, arrived: AtomicUsize::new(0), is_broken: AtomicBool::new(false) }
    }

    fn give_up(&self) {
        self.is_broken.store(true, Ordering::Release);
    }

    /// Waits for the others; an error when one of them failed.
    pub fn pass(&self) -> Result<()> {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.arrived.load(Ordering::Acquire) < self.expected {
            if self.is_broken.load(Ordering::Acquire) {
                bail!("another thread of this turn failed");
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// Runs a turn over prepared operations, starting with batch `first`.
pub fn take(
    peer: &dyn Peer,
    inputs: &Inputs,
    threads: usize,
    cpus: &[usize],
    first: usize,
    times: Times,
) -> Result<Turn> {
    on_threads(threads, cpus, |thread, gate| {
        let mut found = None;
        peer.with_session(&mut |session| {
            let mut walk = Walk::new(inputs, thread, first);
            walk.run(session, times.warm_up)?;
            gate.pass()?;
            found = Some(walk.run(session, times.timed)?);
            Ok(())
        })?;
        found.context("the session did no work")
    })
}

/// A thread's way through its list, which starts over when it is through.
struct Walk<'a> {
    inputs: &'a Inputs,
    batches: &'a [[Operation; BATCH]],
    at: usize,
    copy: Vec<u8>,
}

impl<'a> Walk<'a> {
    fn new(inputs: &'a Inputs, thread: usize, first: usize) -> Self {
        let (batches, _) = inputs.list(thread).as_chunks::<BATCH>();
        let copy = vec![0; inputs.records().shape.copy_bytes()];
        Self { inputs, batches, at: first % batches.len(), copy }
    }

    fn run(&mut self, session: &mut dyn Session, time: Duration) -> Result<Turn> {
        let (start, mut operations, mut missed) = (Instant::now(), 0, 0);
        let seconds = loop {
            let batch = &self.batches[self.at];
            self.at = (self.at + 1) % self.batches.len();
            missed += session.execute(batch, self.inputs.values(), &mut self.copy)?;
            operations += BATCH as u64;
            let elapsed = start.elapsed();
            if elapsed >= time {
                break elapsed.as_secs_f64();
            }
        };
        if missed > 0 {
            bail!("{missed} of {operations} operations found no record, and every record exists");
        }
        Ok(Turn { operations, seconds })
    }
}
