//! What a database is besides its concurrency control: tables, rows, log, epochs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use assay_index::{BuiltIndex, Caller};
use assay_log::{Log, LogError};
use assay_primitives::AnyLockContext;
use assay_primitives::locks::Waiting;
use assay_workload::tables::{TableId, TableSchema};

use crate::bugs::SeededBug;
use crate::epochs::Epochs;
use crate::history::RecordedDeletions;
use crate::limbo::Limbo;
use crate::rows::Rows;
use crate::tid::WORKERS_MAX;
use crate::waits::Pauses;
use assay_primitives::sync::{AtomicU64, Ordering};

/// One table.
pub struct Table {
    pub schema: TableSchema,
    pub index: BuiltIndex,
    /// Words of the row without headers.
    pub words: usize,
    /// Bytes of the row with headers.
    pub bytes: usize,
}

/// Everything that workers share, whatever the concurrency control.
pub struct Base {
    pub tables: Vec<Table>,
    pub rows: Rows,
    pub epochs: Epochs,
    pub log: Option<Arc<Log>>,
    /// How latches are waited for.
    pub latches: Waiting,
    pub pauses: Pauses,
    pub deletion_tids: DeletionTids,
    pub recorded_deletions: RecordedDeletions,
    pub bug: Option<SeededBug>,
    /// No TID up to here is given out again.
    pub tid_floor: AtomicU64,
    failed: OnceLock<LogError>,
    idle: Mutex<Idle>,
}

/// What is there for the next worker.
#[derive(Default)]
struct Idle {
    free: Vec<usize>,
    limbo: Limbo,
}

impl Base {
    pub fn new(
        tables: Vec<Table>,
        rows: Rows,
        log: Option<Arc<Log>>,
        latches: Waiting,
        pauses: Pauses,
        workers: usize,
        bug: Option<SeededBug>,
    ) -> Self {
        debug_assert!(workers <= WORKERS_MAX);
        Self {
            tables,
            rows,
            epochs: Epochs::new(workers),
            log,
            latches,
            pauses,
            deletion_tids: DeletionTids::default(),
            recorded_deletions: RecordedDeletions::default(),
            bug,
            tid_floor: AtomicU64::new(0),
            failed: OnceLock::new(),
            idle: Mutex::new(Idle { free: (0..workers).rev().collect(), limbo: Limbo::default() }),
        }
    }

    /// A number for a new worker, and the rows that earlier ones left to be reused.
    pub fn enter(&self) -> Option<(usize, Limbo)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = idle.free.pop()?;
        Some((worker, core::mem::take(&mut idle.limbo)))
    }

    /// Rows for the next worker to reuse.
    pub fn adopt(&self, limbo: Limbo) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.limbo.adopt(limbo);
    }

    /// A worker has ended.
    pub fn leave(&self, worker: usize, limbo: Limbo) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.free.push(worker);
        idle.limbo.adopt(limbo);
    }

    /// One thread's side of its index calls.
    #[inline(always)]
    pub fn caller(&self) -> Caller {
        Caller::new(AnyLockContext::new(self.latches))
    }

    /// Why the database takes no further transaction.
    #[inline(always)]
    pub fn failure(&self) -> Option<&LogError> {
        self.failed.get()
    }

    /// The log has failed for good, unless the record was just too large.
    pub fn log_failed(&self, error: &LogError) {
        if !matches!(error, LogError::TooLarge { .. }) {
            // The first failure is the one to tell.
            let _ = self.failed.set(error.clone());
        }
    }

    /// Whether a mistake was asked for. False in ordinary builds, at compile time.
    #[inline(always)]
    pub fn has_bug(&self, bug: SeededBug) -> bool {
        cfg!(any(test, feature = "seeded-bugs")) && self.bug == Some(bug)
    }
}

const STRIPES: usize = 64;

#[repr(align(128))]
#[derive(Default)]
struct Stripe(AtomicU64);

/// The highest TIDs of deletions, by hash of the key: a key that is inserted again gets a row of
/// its own, which must not begin with a lower TID than the deletion had.
pub struct DeletionTids(Box<[Stripe]>);

impl Default for DeletionTids {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Stripe(AtomicU64::new(0))).collect())
    }
}

impl DeletionTids {
    fn stripe(&self, table: TableId, key: u64) -> &AtomicU64 {
        let mixed = (key ^ u64::from(table.0) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(mixed >> 58) as usize].0
    }

    /// Called before the key leaves the index.
    pub fn raise(&self, table: TableId, key: u64, tid: u64) {
        self.stripe(table, key).fetch_max(tid, Ordering::AcqRel);
    }

    /// Called after the key was put into the index: later than any removal of it.
    pub fn of(&self, table: TableId, key: u64) -> u64 {
        self.stripe(table, key).load(Ordering::Acquire)
    }
}
