//! A job on a database of one concurrency control: loading, sessions, the check afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_log::Log;
use assay_measure::Done;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Clock, Contention};
use assay_transactions::{ConcurrencyControl, Database, Failure, Worker};
use assay_workload::stream::Extras;

use super::job::Job;
use super::paged::{CacheCounts, NamedRows};
use super::terminals::Terminals;
use crate::EngineError;

/// A loaded or loadable engine of any combination.
pub trait TransactionalEngine: Send + Sync {
    /// Inserts the first rows with this many threads. Returns early, without an error, when `stop`
    /// becomes true.
    fn load(&self, threads: usize, stop: &AtomicBool) -> Result<(), EngineError>;

    /// A session for one thread; sessions run at the same time.
    fn session(&self, thread: usize) -> Result<Box<dyn TransactionalSession + '_>, EngineError>;

    /// What is wrong with the data, in words. No session may run.
    fn faults(&self) -> Result<Vec<String>, EngineError>;

    /// The names of the kinds of request.
    fn kinds(&self) -> &[&'static str];

    /// A function that only this kind of concurrency control calls; counter `cc_calls` counts it.
    fn cc(&self) -> Address;

    /// What the kernel gave for indexes that are on pages.
    fn index_memory(&self) -> Result<Mapped, EngineError>;
}

/// One thread's terminals.
pub trait TransactionalSession: Send {
    /// Carries out some requests and appends their ends; none when no user was due.
    fn execute(&mut self, done: &mut Vec<Done>) -> Result<(), EngineError>;

    /// What this session has met so far.
    fn counts(&self) -> TransactionalCounts;
}

/// What a session met.
#[derive(Clone, Debug, Default)]
pub struct TransactionalCounts {
    /// Latches of indexes.
    pub index: Contention,
    /// Locks of rows.
    pub row: Contention,
    /// The lock of the log.
    pub log: Contention,
    /// Keys looked up in indexes.
    pub index_look_ups: u64,
    /// The named caches.
    pub caches: CacheCounts,
    /// Everything else, by the name used in results.
    pub named: Vec<(&'static str, u64)>,
    /// Transactions carried out, the uncounted ones included.
    pub executed: u64,
}

/// See the module.
pub struct Running<C: ConcurrencyControl, J> {
    pub(super) job: J,
    pub(super) database: Database<C>,
    pub(super) log: Option<Arc<Log>>,
    pub(super) threads: usize,
    pub(super) has_waits: bool,
    pub(super) repeat_every: u64,
    pub(super) clock: Clock,
}

impl<C: ConcurrencyControl, J: Job> TransactionalEngine for Running<C, J> {
    fn load(&self, threads: usize, stop: &AtomicBool) -> Result<(), EngineError> {
        let next = AtomicUsize::new(0);
        let load_pieces = || -> Result<(), EngineError> {
            let mut loader = self.database.load();
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= self.job.pieces() || stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let row = &mut |table, key, row: &[u8]| Ok(loader.row(table, key, row)?);
                self.job.load(piece, row)?;
            }
        };
        std::thread::scope(|scope| {
            let loaders: Vec<_> = (0..threads).map(|_| scope.spawn(load_pieces)).collect();
            loaders.into_iter().try_for_each(|loader| match loader.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn session(&self, thread: usize) -> Result<Box<dyn TransactionalSession + '_>, EngineError> {
        let terminals =
            Terminals::new(&self.job, thread, self.threads, self.has_waits, self.clock)?;
        Ok(Box::new(Session {
            engine: self,
            worker: self.database.worker(),
            terminals,
            extras: Extras::every(self.repeat_every),
            due: Vec::with_capacity(J::AHEAD),
            scratch: Vec::new(),
            executed: 0,
            thread,
        }))
    }

    fn faults(&self) -> Result<Vec<String>, EngineError> {
        Ok(self.job.faults(&mut self.database.quiescent())?)
    }

    fn kinds(&self) -> &[&'static str] {
        self.job.kinds()
    }

    fn cc(&self) -> Address {
        self.database.witness()
    }

    fn index_memory(&self) -> Result<Mapped, EngineError> {
        Ok(self.database.index_memory()?)
    }
}

struct Session<'a, C: ConcurrencyControl, J: Job> {
    engine: &'a Running<C, J>,
    worker: Worker<'a, C>,
    terminals: Terminals<J>,
    extras: Extras,
    due: Vec<super::terminals::Due<J::Input>>,
    scratch: Vec<u8>,
    executed: u64,
    thread: usize,
}

impl<C: ConcurrencyControl, J: Job> Session<'_, C, J> {
    /// Collects what is due, and fetches its rows ahead where the job knows them.
    fn collect(&mut self) -> Result<(), EngineError> {
        self.due.clear();
        while self.due.len() < J::AHEAD {
            let Some(due) = self.terminals.next(&self.engine.job)? else { break };
            if let Some((table, key)) = self.engine.job.first_row(&due.taken.input) {
                self.worker.prefetch(table, key);
            }
            self.due.push(due);
        }
        for due in &self.due {
            if let Some((table, key)) = self.engine.job.first_row(&due.taken.input) {
                self.worker.prefetch_row(table, key);
            }
        }
        Ok(())
    }

    /// Syncs of the one log, told by one session.
    fn syncs(&self) -> u64 {
        let log = self.engine.log.as_ref().filter(|_| self.thread == 0);
        log.map_or(0, |log| log.counts().syncs)
    }

    /// Whether the request ended in an error of the data.
    fn run(&mut self, input: &J::Input, is_read_only: bool) -> Result<bool, EngineError> {
        let (job, scratch) = (&self.engine.job, &mut self.scratch);
        let result = if is_read_only {
            self.worker.read_only(|tables| job.run(tables, input, scratch))
        } else {
            self.worker.transact(|tables| job.run(tables, input, scratch))
        };
        self.executed += 1;
        match result {
            Ok(()) => {
                job.committed(input);
                Ok(false)
            }
            Err(Failure::Requested) => Ok(false),
            Err(Failure::RowMissing { .. } | Failure::KeyExists { .. }) => Ok(true),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl<C: ConcurrencyControl, J: Job> TransactionalSession for Session<'_, C, J> {
    fn execute(&mut self, done: &mut Vec<Done>) -> Result<(), EngineError> {
        let clock = self.engine.clock;
        let begun = clock.ticks();
        self.collect()?;
        let mut batch = std::mem::take(&mut self.due);
        // Rows are fetched ahead for all of the batch: each request bears its share of that.
        let mut last = clock.ticks();
        let share = (last - begun) / batch.len().max(1) as u64;
        for due in batch.drain(..) {
            let is_error = self.run(&due.taken.input, due.taken.is_read_only)?;
            let end_ticks = clock.ticks();
            let (kind, is_extra) = (due.taken.kind, self.extras.is_extra());
            let since = Some(due.since.unwrap_or(last - share));
            done.push(Done { since, kind, is_error, is_extra, ..Done::at(end_ticks) });
            last = end_ticks;
            let job = &self.engine.job;
            self.terminals.answered(job, due.terminal, due.taken.after, end_ticks)?;
        }
        self.due = batch;
        Ok(())
    }

    fn counts(&self) -> TransactionalCounts {
        let counts = self.worker.counts();
        let mut named = vec![
            ("commits", counts.commits),
            ("retries", counts.retries),
            ("cc_calls", counts.witnessed),
            ("index_restarts", counts.index_restarts),
            ("hash_cache.hits", counts.hash_cache.hits),
            ("hash_cache.misses", counts.hash_cache.misses),
            ("log.syncs", self.syncs()),
            ("log.records", counts.log.records),
            ("log.bytes", counts.log.bytes),
            ("log.waits", counts.log.waits),
        ];
        named.extend(counts.aborts.named());
        TransactionalCounts {
            index: counts.index_latches,
            index_look_ups: counts.index_look_ups,
            row: counts.row_locks,
            log: counts.log.lock,
            caches: self.worker.stored_rows().map(NamedRows::counts).unwrap_or_default(),
            named,
            executed: self.executed,
        }
    }
}
