//! One worker's state that every kind of concurrency control uses: the sets of the transaction that
//! runs, and its ways to indexes, rows and log.

use assay_index::{Caller, NodeSet};
use assay_log::{LogError, Lsn, Writer};
use assay_workload::tables::TableId;

use crate::base::{Base, Table};
use crate::bugs::SeededBug;
use crate::error::{Abort, Cause, Full, RowStoreError};
use crate::history::Recorder;
use crate::limbo::{Limbo, Retired};
use crate::row::Row;
use crate::rows::RowAccess;
use crate::tid;
use crate::waits::Waits;
use crate::write_set::{Change, Entry, WriteSet};
use assay_primitives::sync::{Ordering, fence};

/// A row that was read, and the header it had.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub row: Row,
    pub header: u64,
}

/// A row that the index named.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub table: usize,
    pub key: u64,
    pub reference: u64,
    pub row: Row,
}

/// See the module.
pub struct Core<'d> {
    pub base: &'d Base,
    pub worker: usize,
    pub caller: Caller,
    /// One per table.
    pub nodes: Vec<NodeSet>,
    /// For what needs no validation.
    pub ignored: NodeSet,
    pub reads: Vec<Read>,
    pub writes: WriteSet,
    pub rows: RowAccess,
    /// The row that a scan is at.
    pub scanned: Vec<u8>,
    pub limbo: Limbo,
    pub waits: Waits,
    pub writer: Option<Writer>,
    /// Up to where the log must be on disk before the transaction is acknowledged.
    pub lsn: Option<Lsn>,
    /// Whether nodes are remembered.
    pub tracks_nodes: bool,
    /// The highest TID that the transaction met.
    pub tid_seen: u64,
    /// The last TID that this worker gave out.
    pub tid_last: u64,
    pub recorder: Option<Box<Recorder>>,
    pub old_versions_read: u64,
    pub index_look_ups: u64,
    /// Calls of the function that `Protocol::witness` names.
    pub witnessed: u64,
    pub row_store_error: Option<RowStoreError>,
    pub log_error: Option<LogError>,
}

impl<'d> Core<'d> {
    pub fn new(base: &'d Base, worker: usize, limbo: Limbo) -> Self {
        Self {
            base,
            worker,
            caller: base.caller(),
            nodes: base.tables.iter().map(|_| NodeSet::tracked()).collect(),
            ignored: NodeSet::untracked(),
            reads: Vec::new(),
            writes: WriteSet::default(),
            rows: RowAccess::new(&base.rows),
            scanned: Vec::new(),
            limbo,
            waits: Waits::new(base.pauses, worker),
            writer: base.log.as_ref().map(|log| log.worker()),
            lsn: None,
            tracks_nodes: true,
            tid_seen: 0,
            tid_last: base.tid_floor.load(Ordering::Acquire),
            recorder: None,
            old_versions_read: 0,
            index_look_ups: 0,
            witnessed: 0,
            row_store_error: None,
            log_error: None,
        }
    }

    #[inline(always)]
    pub fn table(&self, table: usize) -> &'d Table {
        &self.base.tables[table]
    }

    /// Asks for the part of the index where a key will be looked up.
    #[inline(always)]
    pub fn prefetch(&self, table: TableId, key: u64) {
        self.base.tables[usize::from(table.0)].index.prefetch(key);
    }

    /// Asks for the row of a key, if rows are in memory and the index tells where it is.
    #[inline(always)]
    pub fn prefetch_row(&self, table: TableId, key: u64) {
        let table = &self.base.tables[usize::from(table.0)];
        if let Some(reference) = table.index.peek(key) {
            self.rows.prefetch(reference, table.bytes);
        }
    }

    /// The row of a reference.
    #[inline(always)]
    pub fn locate(&mut self, reference: u64) -> Result<Row, Abort> {
        match self.rows.locate(reference) {
            Ok(row) => Ok(row),
            Err(error) => Err(self.row_store_failed(error, TableId(0))),
        }
    }

    #[cold]
    #[inline(never)]
    fn row_store_failed(&mut self, error: RowStoreError, table: TableId) -> Abort {
        if error == RowStoreError::Full {
            return Cause::Full(Full::Rows(table)).into();
        }
        self.row_store_error = Some(error);
        Cause::RowStore.into()
    }

    /// A new row for a table.
    pub fn allocate(&mut self, table: usize) -> Result<(u64, Row), Abort> {
        let bytes = self.table(table).bytes;
        let id = TableId(table as u8);
        self.rows.allocate(id, bytes).map_err(|error| self.row_store_failed(error, id))
    }

    /// Remembers the header of a row that was read.
    #[inline(always)]
    pub fn observe(&mut self, header: u64) {
        self.tid_seen = self.tid_seen.max(tid::tid(header));
    }

    /// Whether the transaction depends on keys that are not there.
    #[inline(always)]
    pub fn has_nodes(&self) -> bool {
        self.nodes.iter().any(|nodes| !nodes.seen().is_empty())
    }

    /// Whether all nodes are as they were. Of transactions that write it must be asked after a
    /// fence that follows their last lock and insert (see `NodeSet::validate`).
    pub fn check_nodes(&self) -> Result<(), Abort> {
        if self.base.has_bug(SeededBug::NodeSetSkipped) {
            return Ok(());
        }
        for (nodes, table) in self.nodes.iter().zip(&self.base.tables) {
            if !nodes.seen().iter().all(|&seen| table.index.validate(seen)) {
                return Err(Cause::NodeChanged.into());
            }
        }
        Ok(())
    }

    /// As `check_nodes`, with the fence.
    pub fn fence_and_check_nodes(&self) -> Result<(), Abort> {
        if !self.has_nodes() {
            return Ok(());
        }
        fence(Ordering::SeqCst);
        self.check_nodes()
    }

    /// The TID for the `changes` first entries of the write set.
    pub fn draw_tid(&mut self, changes: usize) -> u64 {
        let mut highest = self.tid_seen.max(self.tid_last);
        for entry in &self.writes.entries[..changes] {
            highest = highest.max(tid::tid(entry.before));
            if entry.is_fresh {
                highest =
                    highest.max(self.base.deletion_tids.of(TableId(entry.table as u8), entry.key));
            }
        }
        self.tid_last = tid::next(highest, self.worker);
        self.tid_last
    }

    /// Gives the transaction its place in the log. The rows must still be held.
    pub fn log(&mut self, tid: u64, changes: usize) -> Result<(), Abort> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for entry in &self.writes.entries[..changes] {
            let table = entry.table as u16;
            match entry.change {
                Change::Put => {
                    let words = self.base.tables[entry.table].words;
                    writer.put(table, entry.key, self.writes.bytes(entry, words));
                }
                Change::Delete if !entry.was_absent => writer.delete(table, entry.key),
                Change::Delete | Change::Held => {}
            }
        }
        match writer.append(tid) {
            Ok(lsn) => {
                self.lsn = Some(lsn);
                Ok(())
            }
            Err(error) => {
                self.base.log_failed(&error);
                self.log_error = Some(error);
                Err(Cause::Log.into())
            }
        }
    }

    /// A transaction that wrote nothing may have read what is not on disk yet.
    #[inline(always)]
    pub fn log_nothing(&mut self) -> Result<(), Abort> {
        if self.writer.is_none() {
            return Ok(());
        }
        self.log(0, 0)
    }

    /// Takes the key of a row that the transaction holds out of the index.
    pub fn remove_key(&mut self, entry: &Entry) {
        let index = &self.base.tables[entry.table].index;
        let removed = index.remove(entry.key, &mut self.caller, &mut self.ignored);
        debug_assert_eq!(removed, Some(entry.reference), "a held row's key is in the index");
    }

    /// Has a row that left the index reused, once nobody can know it.
    pub fn retire(&mut self, table: usize, reference: u64) {
        let bytes = self.table(table).bytes;
        self.limbo.retire(Retired { table: TableId(table as u8), reference, bytes });
    }

    /// Notes that a deletion gets a TID, before the key leaves the index.
    pub fn record_deletion(&mut self, entry: &Entry, tid: u64) {
        let table = TableId(entry.table as u8);
        self.base.deletion_tids.raise(table, entry.key, tid);
        self.base.recorded_deletions.set(table, entry.key, tid);
    }

    /// Forgets the transaction.
    #[inline(always)]
    pub fn finish(&mut self) {
        for nodes in &mut self.nodes {
            nodes.clear();
        }
        self.reads.clear();
        self.writes.clear();
        self.rows.end();
        self.tid_seen = 0;
        if self.limbo.is_due() {
            self.limbo.turn_over(&self.base.epochs, &mut self.rows);
        }
    }
}
