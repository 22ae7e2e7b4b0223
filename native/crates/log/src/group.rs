//! The hand-off: how records of many workers become one write and one sync.
//!
//! | state of the log | who may do what |
//! |---|---|
//! | no leader, nothing pending | all that was appended is durable; a worker appends |
//! | no leader, records pending | the first worker that wants to wait becomes the leader |
//! | leader at the device | workers append behind it; those that want to wait sleep |
//! | failed | nothing is appended or made durable any more, for good |
//!
//! The leader takes all that is pending and remembers where that ends *before* it goes to the
//! device without the lock. On its return exactly that much is durable, not what was appended
//! meanwhile. It then wakes all sleepers, and each looks for itself: it is durable, or the log has
//! failed, or it leads the next group, or it sleeps on. So no wake-up is lost, and a pending record
//! that someone waits for always has a leader or a candidate. `tests/loom.rs` runs this very file
//! through loom, and shows on twins that breaking the first rule, leaving out the wake-up, or
//! leading beside a leader is found.
//!
//! Group commit: DeWitt et al., "Implementation Techniques for Main Memory Database Systems",
//! SIGMOD 1984.

use std::path::PathBuf;
use std::sync::Arc;

use assay_primitives::{Clock, Contention, Crc32c};

use crate::format::{HEADER_BYTES, push_write, seal};
use crate::record::Change;
use crate::storage::Storage;
use crate::writer::Staging;
use crate::{LogCounts, LogError, Lsn};
use assay_primitives::sync::{Condvar, Mutex, MutexGuard};

/// Where the next record goes: what a fresh log starts with and recovery finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The offset in the file.
    pub offset: u64,
    /// The sequence number of the next record.
    pub sequence: u64,
    /// The link of the record before.
    pub link: u32,
}

struct State {
    next: Position,
    /// Records from `taken` to `next.offset`, in file order.
    pending: Vec<u8>,
    pending_records: u64,
    /// The buffer of the last group, kept for its memory.
    spare: Vec<u8>,
    durable: u64,
    leading: bool,
    closed: bool,
    failure: Option<LogError>,
    counts: LogCounts,
}

/// What all workers of a log share.
pub(crate) struct Core {
    state: Mutex<State>,
    /// A leader has returned.
    returned: Condvar,
    storage: Box<dyn Storage>,
    path: PathBuf,
    pending_bytes_max: usize,
    pub crc: Crc32c,
    pub clock: Clock,
}

/// A record on its way into the shared buffer.
pub(crate) enum Incoming<'a> {
    /// Encoded and prepared by the worker: only the place in the chain is missing.
    Prepared(&'a mut [u8]),
    /// Writes that are encoded under the lock.
    Writes(&'a Staging, u64),
}

impl Core {
    pub(crate) fn new(
        storage: Box<dyn Storage>,
        path: PathBuf,
        next: Position,
        clock: Clock,
        pending_bytes_max: usize,
    ) -> Self {
        let state = State {
            next,
            pending: Vec::new(),
            pending_records: 0,
            spare: Vec::new(),
            durable: next.offset,
            leading: false,
            closed: false,
            failure: None,
            counts: LogCounts::default(),
        };
        Self {
            state: Mutex::new(state),
            returned: Condvar::new(),
            storage,
            path,
            pending_bytes_max,
            crc: crate::format::best_crc(),
            clock,
        }
    }

    /// Puts a record behind all others. Waits for the device only when too much is pending.
    pub(crate) fn append(
        &self,
        record: Incoming<'_>,
        lock: &mut Contention,
    ) -> Result<Lsn, LogError> {
        let mut state = self.lock_counted(lock);
        loop {
            state.check(self)?;
            if state.pending.len() < self.pending_bytes_max {
                return Ok(state.push(record, &self.crc));
            }
            state = self.lead_or_sleep(state);
        }
    }

    /// Writes and syncs one record alone, after those of other workers, each alone too.
    pub(crate) fn append_alone(
        &self,
        record: Incoming<'_>,
        lock: &mut Contention,
    ) -> Result<Lsn, LogError> {
        let mut state = self.lock_counted(lock);
        while state.leading {
            state = self.sleep(state);
        }
        state.check(self)?;
        let lsn = state.push(record, &self.crc);
        state = self.lead(state);
        state.settled(lsn).expect("the leader has settled its own record")?;
        Ok(lsn)
    }

    /// Returns when the log is durable up to a place, leading groups where nobody else does.
    /// Returns whether it had to wait.
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<bool, LogError> {
        let mut waited = false;
        let mut state = self.lock();
        loop {
            if let Some(settled) = state.settled(lsn) {
                return settled.map(|()| waited);
            }
            waited = true;
            state = self.lead_or_sleep(state);
        }
    }

    /// The place behind everything appended.
    pub(crate) fn appended(&self) -> Lsn {
        Lsn(self.lock().next.offset)
    }

    pub(crate) fn durable(&self) -> Lsn {
        Lsn(self.lock().durable)
    }

    pub(crate) fn counts(&self) -> LogCounts {
        self.lock().counts
    }

    /// Refuses records from now on.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    /// After `close` and the last `wait`: the file is free for another log.
    pub(crate) fn release(&self) {
        self.storage.release();
    }

    fn lead_or_sleep<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.leading { self.sleep(state) } else { self.lead(state) }
    }

    /// Makes durable all that is pending. The lock is not held at the device.
    fn lead<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        debug_assert!(!state.leading && state.failure.is_none() && !state.pending.is_empty());
        state.leading = true;
        let spare = std::mem::take(&mut state.spare);
        let group = std::mem::replace(&mut state.pending, spare);
        let records = std::mem::take(&mut state.pending_records);
        let (start, end) = (state.durable, state.next.offset);
        drop(state);
        let result = self.make_durable(&group, start);
        let mut state = self.lock();
        state.leading = false;
        match result {
            Ok(()) => {
                state.durable = end;
                state.counts.add_group(records, group.len() as u64);
            }
            Err(failure) => state.failure = Some(failure),
        }
        state.spare = group;
        state.spare.clear();
        self.returned.notify_all();
        state
    }

    fn make_durable(&self, group: &[u8], offset: u64) -> Result<(), LogError> {
        let failed = |call| {
            move |error| LogError::Failed { path: self.path.clone(), call, source: Arc::new(error) }
        };
        self.storage.write_all_at(group, offset).map_err(failed("write"))?;
        self.storage.sync().map_err(failed("sync"))
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.returned.wait(state).expect(UNPOISONED)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }

    /// Takes the lock and counts, in the worker's own memory, whether it was taken already.
    fn lock_counted(&self, contention: &mut Contention) -> MutexGuard<'_, State> {
        contention.grabs += 1;
        if let Ok(state) = self.state.try_lock() {
            return state;
        }
        let start = self.clock.ticks();
        let state = self.lock();
        contention.waits += 1;
        contention.wait_ticks += self.clock.ticks().saturating_sub(start);
        state
    }
}

const UNPOISONED: &str = "no thread panics while it holds the lock of the log";

impl State {
    fn check(&self, core: &Core) -> Result<(), LogError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if self.closed { Err(LogError::Closed { path: core.path.clone() }) } else { Ok(()) }
    }

    /// What is known about a place: durable, lost, or nothing yet. What was durable before a
    /// failure stays so.
    fn settled(&self, lsn: Lsn) -> Option<Result<(), LogError>> {
        if self.durable >= lsn.0 {
            return Some(Ok(()));
        }
        self.failure.clone().map(Err)
    }

    fn push(&mut self, record: Incoming<'_>, crc: &Crc32c) -> Lsn {
        let start = self.pending.len();
        match record {
            Incoming::Prepared(bytes) => self.pending.extend_from_slice(bytes),
            Incoming::Writes(staging, tid) => staging.encode(&mut self.pending, tid, crc),
        }
        let record = &mut self.pending[start..];
        self.next.link = seal(record, self.next.sequence, self.next.link, crc);
        self.next.sequence += 1;
        self.next.offset += record.len() as u64;
        self.pending_records += 1;
        Lsn(self.next.offset)
    }
}

impl Staging {
    /// Encodes the writes as one record at the end of `out`.
    fn encode(&self, out: &mut Vec<u8>, tid: u64, crc: &Crc32c) {
        let start = out.len();
        out.resize(start + HEADER_BYTES, 0);
        for (table, key, bytes) in self.writes() {
            push_write(out, table, key, bytes.map_or(Change::Delete, Change::Put));
        }
        crate::format::prepare(&mut out[start..], tid, crc);
    }
}
