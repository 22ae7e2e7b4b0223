//! What a worker did and met. Owned by the worker, so that counting writes nothing shared.

use assay_index::caller::CacheCounts;
use assay_log::WriterCounts;
use assay_primitives::Contention;

use crate::error::Cause;

/// Attempts that ended without a commit, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbortCounts {
    /// A lock was taken.
    pub lock_busy: u64,
    /// A lock was taken by an older transaction.
    pub died: u64,
    /// A row that was read has changed.
    pub read_changed: u64,
    /// Keys came or went where the transaction looked.
    pub node_changed: u64,
    /// A row to be written was newer than the snapshot.
    pub write_too_late: u64,
    /// A row that must exist was not there.
    pub row_missing: u64,
    /// The procedure wanted it.
    pub requested: u64,
    /// An inserted key was there.
    pub key_exists: u64,
    /// Everything else: full, failed, a write in a read-only transaction, the log.
    pub failed: u64,
}

impl AbortCounts {
    /// Each count with the name used in results.
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("aborts.lock_busy", self.lock_busy),
            ("aborts.died", self.died),
            ("aborts.read_changed", self.read_changed),
            ("aborts.node_changed", self.node_changed),
            ("aborts.write_too_late", self.write_too_late),
            ("aborts.row_missing", self.row_missing),
            ("aborts.requested", self.requested),
            ("aborts.key_exists", self.key_exists),
            ("aborts.failed", self.failed),
        ]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn count(&mut self, cause: Cause) {
        *match cause {
            Cause::LockBusy => &mut self.lock_busy,
            Cause::Died => &mut self.died,
            Cause::ReadChanged => &mut self.read_changed,
            Cause::NodeChanged => &mut self.node_changed,
            Cause::WriteTooLate => &mut self.write_too_late,
            Cause::RowMissing { .. } => &mut self.row_missing,
            Cause::Requested => &mut self.requested,
            Cause::KeyExists { .. } => &mut self.key_exists,
            Cause::WroteInReadOnly | Cause::Full(_) | Cause::RowStore | Cause::Log => {
                &mut self.failed
            }
        } += 1;
    }

    fn add(&mut self, other: &Self) {
        self.lock_busy += other.lock_busy;
        self.died += other.died;
        self.read_changed += other.read_changed;
        self.node_changed += other.node_changed;
        self.write_too_late += other.write_too_late;
        self.row_missing += other.row_missing;
        self.requested += other.requested;
        self.key_exists += other.key_exists;
        self.failed += other.failed;
    }
}

/// What one worker did and met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Transactions committed.
    pub commits: u64,
    /// Attempts that ended without a commit.
    pub aborts: AbortCounts,
    /// Attempts after the first.
    pub retries: u64,
    /// Keys looked up in indexes, those asked for ahead included; scans are not.
    pub index_look_ups: u64,
    /// Calls of the function that `Database::witness` names.
    pub witnessed: u64,
    /// Index operations that began again because of another thread.
    pub index_restarts: u64,
    /// Answers of the hash caches before trees, where there are any.
    pub hash_cache: CacheCounts,
    /// Met at the latches of indexes.
    pub index_latches: Contention,
    /// Met at the locks in row headers. Grabs are locks taken; a refused lock counts as a wait
    /// without spins.
    pub row_locks: Contention,
    /// Met at the log: its lock, and the waits for the device.
    pub log: WriterCounts,
    /// Rows located through a row store; none for rows in memory.
    pub row_look_ups: u64,
    /// Older versions that were read (multi-version).
    pub old_versions_read: u64,
    /// Rows and versions that wait to be reused, now.
    pub garbage: u64,
}

impl WorkerCounts {
    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.aborts.add(&other.aborts);
        self.retries += other.retries;
        self.index_look_ups += other.index_look_ups;
        self.index_restarts += other.index_restarts;
        self.hash_cache.hits += other.hash_cache.hits;
        self.hash_cache.misses += other.hash_cache.misses;
        self.index_latches.add(&other.index_latches);
        self.row_locks.add(&other.row_locks);
        self.log.add(&other.log);
        self.row_look_ups += other.row_look_ups;
        self.old_versions_read += other.old_versions_read;
        self.garbage += other.garbage;
    }
}
