//! One thread's way to run transactions: attempts, retries, counts.

use assay_workload::tables::TableId;

use crate::base::Base;
use crate::cc::{Protocol, Start};
use crate::core::Core;
use crate::counts::{AbortCounts, WorkerCounts};
use crate::error::{Abort, Cause, Failure, RowStoreError};
use crate::history::{Committed, Recorder};
use crate::rows::StoredRows;
use crate::transaction::Transaction;
use assay_primitives::sync::{AtomicU64, Ordering};

/// Runs transactions on one thread. It may move between threads, between transactions.
///
/// A worker that exists takes part in deciding when memory may be reused, also while it waits for
/// its next transaction: call [`Worker::rest`] before a long pause.
pub struct Worker<'d, C: Protocol> {
    transaction: Transaction<'d, C>,
    commits: u64,
    aborts: AbortCounts,
    retries: u64,
    is_resting: bool,
    is_running: bool,
}

// SAFETY: the rows that the sets point to are shared memory of atomics; everything else a worker
// owns or shares by types that are Sync.
unsafe impl<C: Protocol> Send for Worker<'_, C> {}

impl<'d, C: Protocol> Worker<'d, C> {
    pub(crate) fn new(shared: &'d C, base: &'d Base) -> Self {
        let entered = base.enter();
        assert!(entered.is_some(), "more workers than the database was opened for: `workers`");
        let (worker, limbo) = entered.unwrap_or_default();
        let mut core = Core::new(base, worker, limbo);
        let local = shared.local(&mut core);
        let (doomed, is_read_only) = (None, false);
        Self {
            transaction: Transaction { shared, core, local, doomed, is_read_only },
            commits: 0,
            aborts: AbortCounts::default(),
            retries: 0,
            is_resting: true,
            is_running: false,
        }
    }

    /// Runs a procedure until it commits or fails for good. The procedure is called again for each
    /// attempt, and must not have effects of its own. Between attempts the worker pauses for a
    /// random time that grows, up to a limit.
    ///
    /// With a durable log the commit is on disk when this returns, and so is everything that the
    /// transaction read.
    ///
    /// # Errors
    /// What no other attempt would change. All is rolled back then, except after
    /// `Failure::Log`: see there.
    #[inline]
    pub fn transact<T>(
        &mut self,
        procedure: impl FnMut(&mut Transaction<'_, C>) -> Result<T, Abort>,
    ) -> Result<T, Failure> {
        self.run(false, procedure)
    }

    /// As `transact`, declared to read only. Multi-version transactions then read a snapshot, take
    /// part in nothing, and never abort or wait for others (except, with a durable log, for the
    /// disk); the other kinds run them as any transaction.
    ///
    /// # Errors
    /// As `transact`, and `Failure::WroteInReadOnly`.
    #[inline]
    pub fn read_only<T>(
        &mut self,
        procedure: impl FnMut(&mut Transaction<'_, C>) -> Result<T, Abort>,
    ) -> Result<T, Failure> {
        self.run(true, procedure)
    }

    #[inline(always)]
    fn run<T>(
        &mut self,
        is_read_only: bool,
        mut procedure: impl FnMut(&mut Transaction<'_, C>) -> Result<T, Abort>,
    ) -> Result<T, Failure> {
        let mut attempts = 0;
        loop {
            self.begin(Start { is_retry: attempts > 0, is_read_only })?;
            match self.attempt(&mut procedure) {
                Ok(result) => {
                    self.end();
                    self.commits += 1;
                    self.wait_for_log()?;
                    return Ok(result);
                }
                Err(abort) => self.give_up(abort)?,
            }
            attempts += 1;
            self.retries += 1;
            self.transaction.core.waits.back_off(attempts);
        }
    }

    #[inline(always)]
    fn begin(&mut self, start: Start) -> Result<(), Failure> {
        let core = &self.transaction.core;
        if let Some(error) = core.base.failure() {
            return Err(Failure::Log(error.clone()));
        }
        if self.is_resting {
            self.wake();
        } else {
            core.base.epochs.pass(core.worker);
        }
        self.is_running = true;
        self.transaction.begin(start);
        Ok(())
    }

    #[cold]
    fn wake(&mut self) {
        let nothing = AtomicU64::new(0);
        let visible = self.transaction.shared.visible().unwrap_or(&nothing);
        self.transaction.core.base.epochs.wake(self.transaction.core.worker, visible);
        self.is_resting = false;
    }

    #[inline(always)]
    fn attempt<T>(
        &mut self,
        procedure: &mut impl FnMut(&mut Transaction<'_, C>) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let transaction = &mut self.transaction;
        match procedure(transaction) {
            Ok(result) if transaction.doomed.is_none() => {
                transaction.commit()?;
                Ok(result)
            }
            Ok(_) => Err(transaction.doomed.unwrap_or(Cause::Requested.into())),
            Err(abort) => Err(transaction.doomed.unwrap_or(abort)),
        }
    }

    /// Rolls the attempt back; an error if there must not be another.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self, mut abort: Abort) -> Result<(), Failure> {
        let Transaction { shared, core, local, .. } = &mut self.transaction;
        if matches!(
            abort.cause,
            Cause::RowMissing { .. } | Cause::KeyExists { .. } | Cause::Requested
        ) && let Err(earlier) = shared.check(local, core)
        {
            // The procedure decided on what never was there at one moment.
            abort = earlier;
        }
        self.roll_back();
        self.aborts.count(abort.cause);
        if abort.cause.is_retryable() { Ok(()) } else { Err(self.failure(abort.cause)) }
    }

    fn roll_back(&mut self) {
        let Transaction { shared, core, local, .. } = &mut self.transaction;
        shared.roll_back(local, core);
        if let Some(writer) = &mut core.writer {
            writer.discard();
        }
        core.lsn = None;
        self.end();
    }

    #[inline(always)]
    fn end(&mut self) {
        let Transaction { shared, core, local, .. } = &mut self.transaction;
        core.finish();
        shared.tidy(local, core);
        self.is_running = false;
    }

    #[inline(always)]
    fn wait_for_log(&mut self) -> Result<(), Failure> {
        let core = &mut self.transaction.core;
        let Some(lsn) = core.lsn.take() else { return Ok(()) };
        let Some(writer) = &mut core.writer else { return Ok(()) };
        match writer.wait(lsn) {
            Ok(_) => Ok(()),
            Err(error) => {
                core.base.log_failed(&error);
                Err(Failure::Log(error))
            }
        }
    }

    fn failure(&mut self, cause: Cause) -> Failure {
        let core = &mut self.transaction.core;
        match cause {
            Cause::RowMissing { table, key } => Failure::RowMissing { table, key },
            Cause::KeyExists { table, key } => Failure::KeyExists { table, key },
            Cause::WroteInReadOnly => Failure::WroteInReadOnly,
            Cause::Full(full) => Failure::Full(full),
            Cause::RowStore => {
                let error = core.row_store_error.take();
                Failure::RowStore(error.unwrap_or(RowStoreError::Full))
            }
            Cause::Log => match core.log_error.take() {
                Some(error) => Failure::Log(error),
                None => Failure::Requested,
            },
            _ => Failure::Requested,
        }
    }

    /// The worker's side of the row store, if it is of this type.
    pub fn stored_rows<S: StoredRows>(&self) -> Option<&S> {
        self.transaction.core.rows.stored()
    }

    /// What this worker did and met so far.
    pub fn counts(&self) -> WorkerCounts {
        let core = &self.transaction.core;
        let garbage = core.limbo.len() + self.transaction.shared.garbage(&self.transaction.local);
        WorkerCounts {
            commits: self.commits,
            aborts: self.aborts,
            retries: self.retries,
            index_look_ups: core.index_look_ups,
            witnessed: core.witnessed,
            index_restarts: core.caller.restarts(),
            hash_cache: core.caller.cache(),
            index_latches: core.caller.contention(),
            row_locks: core.waits.counts,
            log: core.writer.as_ref().map(|writer| writer.counts()).unwrap_or_default(),
            row_look_ups: core.rows.look_ups,
            old_versions_read: core.old_versions_read,
            garbage: garbage as u64,
        }
    }

    /// The worker will pause: it keeps no memory from being reused until its next transaction.
    pub fn rest(&mut self) {
        let core = &self.transaction.core;
        core.base.epochs.rest(core.worker);
        self.is_resting = true;
    }

    /// For batches, first pass: asks for the part of the index where a key is looked up.
    #[inline(always)]
    pub fn prefetch(&self, table: TableId, key: u64) {
        self.transaction.core.prefetch(table, key);
    }

    /// For batches, second pass: asks for the row, if rows are in memory and the index tells
    /// where it is.
    #[inline(always)]
    pub fn prefetch_row(&self, table: TableId, key: u64) {
        self.transaction.core.prefetch_row(table, key);
    }

    /// Records what transactions read and write from now on, or stops and forgets it. For the
    /// checker: switch it on for all workers before any of them runs a transaction.
    pub fn record_history(&mut self, on: bool) {
        let core = &mut self.transaction.core;
        if on && core.recorder.is_none() {
            core.base.recorded_deletions.switch_on();
        }
        core.recorder = on.then(Box::<Recorder>::default);
    }

    /// What was recorded since the last call.
    pub fn take_history(&mut self) -> Vec<Committed> {
        let recorder = self.transaction.core.recorder.as_mut();
        recorder.map(|recorder| core::mem::take(&mut recorder.done)).unwrap_or_default()
    }
}

impl<C: Protocol> Drop for Worker<'_, C> {
    fn drop(&mut self) {
        if self.is_running {
            // A procedure panicked.
            self.roll_back();
        }
        let Transaction { shared, core, local, .. } = &mut self.transaction;
        shared.leave(local, core);
        core.base.epochs.rest(core.worker);
        core.base.tid_floor.fetch_max(core.tid_last, Ordering::AcqRel);
        core.base.leave(core.worker, core::mem::take(&mut core.limbo));
    }
}
