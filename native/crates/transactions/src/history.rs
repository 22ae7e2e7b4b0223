//! White-box histories: what each committed transaction read and wrote, by version.
//!
//! Recording is for tests. It must be switched on for all workers before the first transaction, and
//! costs memory and a shared map at every look for a key that is not there.
//!
//! A version is named by the TID that wrote it. A key that is not there has no row to carry a TID,
//! so deletions are also noted in a shared map (`RecordedDeletions`), before the key leaves the index. Who
//! finds a key missing looks into that map before and after: when it names the same deletion twice,
//! that is the version that was read. Multi-version transactions know their snapshot instead.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_workload::tables::TableId;

use assay_primitives::sync::{AtomicU64, Ordering};

/// Which version of a key a transaction saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenVersion {
    /// The row that this TID wrote.
    Row(u64),
    /// No row; the last deletion has this TID, 0 for a key that never was there.
    Gone(u64),
    /// No row, as of all commits up to this TID.
    GoneAt(u64),
}

/// A read of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadEvent {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: u64,
    /// What was there.
    pub version: SeenVersion,
}

/// A scan: the keys found are read events; all others of the range were not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanEvent {
    /// The table.
    pub table: TableId,
    /// The keys that were looked at: the range asked for, or less when a limit ended the scan.
    pub keys: RangeInclusive<u64>,
    /// The keys that were found, and those that the transaction had changed itself.
    pub known: Vec<u64>,
    /// Deletions known for keys of the range; others that are missing were never there.
    pub gone: Vec<(u64, u64)>,
    /// The snapshot, instead of `gone`.
    pub snapshot: Option<u64>,
}

/// What a transaction did to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// There was no row.
    Insert,
    /// There was one, and still is.
    Update,
    /// There is none any more.
    Delete,
}

/// A write of one key; the version is the transaction's TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEvent {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: u64,
    /// What was done.
    pub kind: WriteKind,
}

/// A committed transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The worker that ran it.
    pub worker: usize,
    /// Its TID; none if it wrote nothing.
    pub tid: Option<u64>,
    /// What it read, own writes left out.
    pub reads: Vec<ReadEvent>,
    /// What it scanned.
    pub scans: Vec<ScanEvent>,
    /// What it wrote.
    pub writes: Vec<WriteEvent>,
}

/// One worker's recording.
#[derive(Default)]
pub struct Recorder {
    pub done: Vec<Committed>,
    pub running: Committed,
}

impl Recorder {
    /// The attempt begins, or has ended without a commit.
    pub fn restart(&mut self, worker: usize) {
        self.running = Committed { worker, ..Committed::default() };
    }

    /// The attempt has committed.
    pub fn commit(&mut self, tid: Option<u64>) {
        self.running.tid = tid;
        self.done.push(core::mem::take(&mut self.running));
    }
}

type Key = (TableId, u64);

/// The last deletion of each key, while anybody records.
#[derive(Default)]
pub struct RecordedDeletions {
    recorders: AtomicU64,
    last: Mutex<BTreeMap<Key, u64>>,
}

impl RecordedDeletions {
    fn map(&self) -> MutexGuard<'_, BTreeMap<Key, u64>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletions are noted from now on.
    pub fn switch_on(&self) {
        self.recorders.fetch_add(1, Ordering::AcqRel);
    }

    /// A deletion gets this TID.
    pub fn set(&self, table: TableId, key: u64, tid: u64) {
        if self.recorders.load(Ordering::Relaxed) != 0 {
            self.map().insert((table, key), tid);
        }
    }

    /// The last deletions in a range.
    pub fn of(&self, table: TableId, keys: &RangeInclusive<u64>) -> Vec<(u64, u64)> {
        if keys.is_empty() {
            return Vec::new();
        }
        let map = self.map();
        let range = map.range((table, *keys.start())..=(table, *keys.end()));
        range.map(|((_, key), tid)| (*key, *tid)).collect()
    }
}
