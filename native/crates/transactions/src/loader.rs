//! Rows outside transactions: the initial population, and what recovery puts back.

use assay_index::{Caller, NodeSet};
use assay_workload::tables::TableId;

use crate::base::{Base, Table};
use crate::cc::Protocol;
use crate::error::{Full, RowStoreError, TransactionError};
use crate::row::Row;
use crate::rows::RowAccess;
use crate::tid::LOADED;
use crate::write_set::words_of;
use assay_primitives::sync::Ordering;

/// One thread's door for loading. No transaction may run meanwhile.
pub struct Loader<'d, C: Protocol> {
    shared: &'d C,
    base: &'d Base,
    worker: usize,
    caller: Caller,
    nodes: NodeSet,
    rows: RowAccess,
    words: Vec<u64>,
}

impl<'d, C: Protocol> Loader<'d, C> {
    pub(crate) fn new(shared: &'d C, base: &'d Base) -> Self {
        let worker = enter(base);
        Self {
            shared,
            base,
            worker,
            caller: base.caller(),
            nodes: NodeSet::untracked(),
            rows: RowAccess::new(&base.rows),
            words: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// `NoTable`, `RowSize`, `Duplicate`, `Full`, `RowStore`.
    pub fn row(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), TransactionError> {
        let (reference, _) = self.new_row(table, key, row, LOADED)?;
        let index = &self.base.tables[usize::from(table.0)].index;
        let inserted = index.insert(key, reference, &mut self.caller, &mut self.nodes);
        self.rows.end();
        match inserted {
            Ok(true) => Ok(()),
            Ok(false) => Err(TransactionError::Duplicate { table, key }),
            Err(_) => Err(Full::Index(table).into()),
        }
    }

    /// Sets a row to what a transaction made of it, or removes it.
    pub(crate) fn redo(
        &mut self,
        table: TableId,
        key: u64,
        row: Option<&[u8]>,
        tid: u64,
    ) -> Result<(), TransactionError> {
        let index = &self.table(table)?.index;
        index.remove(key, &mut self.caller, &mut self.nodes);
        let Some(row) = row else {
            self.base.deletion_tids.raise(table, key, tid);
            return Ok(());
        };
        let (reference, _) = self.new_row(table, key, row, tid)?;
        let inserted = index.insert(key, reference, &mut self.caller, &mut self.nodes);
        self.rows.end();
        inserted.map(drop).map_err(|_| Full::Index(table).into())
    }

    /// All later TIDs will be higher.
    pub(crate) fn raise_tid(&mut self, tid: u64) {
        self.base.tid_floor.fetch_max(tid, Ordering::AcqRel);
        self.shared.raise_tid(tid);
    }

    fn table(&self, table: TableId) -> Result<&'d Table, TransactionError> {
        let found = self.base.tables.get(usize::from(table.0));
        found.ok_or(TransactionError::NoTable(u16::from(table.0)))
    }

    fn new_row(
        &mut self,
        table: TableId,
        key: u64,
        row: &[u8],
        tid: u64,
    ) -> Result<(u64, Row), TransactionError> {
        let Table { schema, bytes, .. } = self.table(table)?;
        if row.len() != schema.row_bytes {
            let (expected, got) = (schema.row_bytes, row.len());
            return Err(TransactionError::RowSize { table, expected, got });
        }
        let (reference, new) = self.rows.allocate(table, *bytes).map_err(|error| match error {
            RowStoreError::Full => Full::Rows(table).into(),
            error => TransactionError::from(error),
        })?;
        self.words.clear();
        self.words.extend(words_of(row));
        new.key().store(key, Ordering::Relaxed);
        new.set_words(C::PREFIX, &self.words);
        self.shared.load(new, tid);
        self.rows.modified(reference);
        Ok((reference, new))
    }
}

impl<C: Protocol> Drop for Loader<'_, C> {
    fn drop(&mut self) {
        self.base.leave(self.worker, crate::limbo::Limbo::default());
    }
}

/// A number for somebody who retires nothing.
pub(crate) fn enter(base: &Base) -> usize {
    let entered = base.enter();
    assert!(entered.is_some(), "more workers than the database was opened for: `workers`");
    let (worker, limbo) = entered.unwrap_or_default();
    base.adopt(limbo);
    worker
}
