//! One worker's door to the log.
//!
//! A writer gathers the writes of one transaction, then commits or discards them. A commit is two
//! steps, and an engine that releases its row locks early takes them apart:
//!
//! 1. `append(tid)`, while the transaction still holds its rows: the record gets its place. Whoever
//!    sees the rows afterwards has a later place, so that no crash keeps a transaction and loses
//!    one that it depends on.
//! 2. `wait(lsn)`, after the rows are free: returns when the record is on disk.
//!
//! In mode `per-commit` the first step does it all, which is what that mode is there to show.

use std::sync::Arc;

use assay_primitives::Contention;

use crate::format::{HEADER_BYTES, WRITE_BYTES, prepare, push_write};
use crate::group::{Core, Incoming};
use crate::record::Change;
use crate::{Acknowledged, LogError, LogMode, Lsn, WriterCounts};

/// The writes of one transaction before they are encoded.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// Table, key, and where in `bytes` the row ends; `None` for a delete.
    writes: Vec<(u16, u64, Option<usize>)>,
    bytes: Vec<u8>,
}

impl Staging {
    pub(crate) fn writes(&self) -> impl Iterator<Item = (u16, u64, Option<&[u8]>)> {
        let mut start = 0;
        self.writes.iter().map(move |&(table, key, end)| {
            let row = end.map(|end| &self.bytes[std::mem::replace(&mut start, end)..end]);
            (table, key, row)
        })
    }

    fn push(&mut self, table: u16, key: u64, change: Change<'_>) {
        let end = match change {
            Change::Put(row) => {
                self.bytes.extend_from_slice(row);
                Some(self.bytes.len())
            }
            Change::Delete => None,
        };
        self.writes.push((table, key, end));
    }

    fn clear(&mut self) {
        self.writes.clear();
        self.bytes.clear();
    }
}

/// One worker's way into a log. Dropping it discards writes that were not appended.
pub struct Writer {
    mode: LogMode,
    core: Option<Arc<Core>>,
    record_bytes_max: u64,
    /// Bytes of the record so far, without its header; keeps counting beyond the limit.
    body_bytes: u64,
    /// Mode `group`: writes as they came.
    staging: Staging,
    /// The other modes: room for the header, then the body.
    private: Vec<u8>,
    counts: WriterCounts,
}

impl Writer {
    pub(crate) fn new(mode: LogMode, core: Option<Arc<Core>>, record_bytes_max: u64) -> Self {
        Self {
            mode,
            core,
            record_bytes_max,
            body_bytes: 0,
            staging: Staging::default(),
            private: vec![0; HEADER_BYTES],
            counts: WriterCounts::default(),
        }
    }

    /// The transaction has set a row to these bytes.
    pub fn put(&mut self, table: u16, key: u64, row: &[u8]) {
        self.add(table, key, Change::Put(row));
    }

    /// The transaction has deleted a row.
    pub fn delete(&mut self, table: u16, key: u64) {
        self.add(table, key, Change::Delete);
    }

    fn add(&mut self, table: u16, key: u64, change: Change<'_>) {
        if self.mode == LogMode::None {
            return;
        }
        let row_bytes = match change {
            Change::Put(row) => row.len() as u64,
            Change::Delete => 0,
        };
        self.body_bytes += WRITE_BYTES as u64 + row_bytes;
        if self.body_bytes > self.record_bytes_max {
            return;
        }
        match self.mode {
            LogMode::Group => self.staging.push(table, key, change),
            _ => push_write(&mut self.private, table, key, change),
        }
    }

    /// Forgets the writes of a transaction that was rolled back.
    pub fn discard(&mut self) {
        self.body_bytes = 0;
        self.staging.clear();
        self.private.truncate(HEADER_BYTES);
    }

    /// Gives the transaction its place in the log and forgets its writes, whatever comes of it.
    /// Without writes nothing is appended: the place is then behind everything appended so far, so
    /// that waiting for it makes sure of all that the transaction can have read.
    ///
    /// # Errors
    /// `Failed` and `Closed`: the log takes no more commits. `TooLarge`: this one not.
    pub fn append(&mut self, tid: u64) -> Result<Lsn, LogError> {
        let result = self.append_staged(tid);
        self.discard();
        if result.is_ok() {
            self.counts.commits += 1;
        }
        result
    }

    fn append_staged(&mut self, tid: u64) -> Result<Lsn, LogError> {
        let Some(core) = &self.core else { return Ok(Lsn(0)) };
        if self.body_bytes == 0 {
            return Ok(core.appended());
        }
        if self.body_bytes > self.record_bytes_max {
            let (bytes, limit) = (self.body_bytes, self.record_bytes_max);
            return Err(LogError::TooLarge { tid, bytes, limit });
        }
        let lock = &mut self.counts.lock;
        let lsn = if self.mode == LogMode::Group {
            core.append(Incoming::Writes(&self.staging, tid), lock)?
        } else {
            prepare(&mut self.private, tid, &core.crc);
            let record = Incoming::Prepared(&mut self.private);
            if self.mode == LogMode::PerCommit {
                Self::append_alone(core, record, &mut self.counts)?
            } else {
                core.append(record, lock)?
            }
        };
        self.counts.records += 1;
        self.counts.bytes += HEADER_BYTES as u64 + self.body_bytes;
        Ok(lsn)
    }

    fn append_alone(
        core: &Core,
        record: Incoming<'_>,
        counts: &mut WriterCounts,
    ) -> Result<Lsn, LogError> {
        let start = core.clock.ticks();
        let mut lock = Contention::default();
        let result = core.append_alone(record, &mut lock);
        counts.lock.add(&lock);
        counts.waits += 1;
        counts.wait_ticks += core.clock.ticks().saturating_sub(start);
        result
    }

    /// Returns when the log is on disk up to `lsn`, in durable modes; at once in the others.
    ///
    /// # Errors
    /// `Failed`: a write or sync failed before that.
    pub fn wait(&mut self, lsn: Lsn) -> Result<Acknowledged, LogError> {
        let Some(core) = self.core.as_ref().filter(|_| self.mode.is_durable()) else {
            return Ok(Acknowledged::Volatile(lsn));
        };
        let start = core.clock.ticks();
        if core.wait(lsn)? {
            self.counts.waits += 1;
            self.counts.wait_ticks += core.clock.ticks().saturating_sub(start);
        }
        Ok(Acknowledged::Durable(lsn))
    }

    /// Both steps: `append`, then `wait`.
    ///
    /// # Errors
    /// Those of the two steps. After an error the transaction must not be acknowledged; whether
    /// recovery will find it is open, except after `TooLarge` and `Closed`: it will not.
    pub fn commit(&mut self, tid: u64) -> Result<Acknowledged, LogError> {
        let lsn = self.append(tid)?;
        self.wait(lsn)
    }

    /// What this writer did and met so far.
    pub fn counts(&self) -> WriterCounts {
        self.counts
    }
}
