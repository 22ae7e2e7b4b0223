//! The slow obvious twin of an engine: ordered maps, one transaction at a time, an undo list.
//!
//! It exists to say what a procedure's outcome must be: an engine that runs the same inputs in the
//! same order has the same rows afterwards. It is single-threaded, keeps every row in its own
//! allocation, and is not to be measured.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::tables::{AbortCause, Direction, TableId, TableSchema, Tables};

/// Why a transaction ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReferenceAbort {
    /// The procedure asked for it.
    #[error("rolled back as the input demands")]
    Requested,
    /// A row that must exist does not.
    #[error("table {} has no row {key:#x}", table.0)]
    RowMissing {
        /// Where.
        table: TableId,
        /// Which.
        key: u64,
    },
    /// An inserted row exists already.
    #[error("table {} already has row {key:#x}", table.0)]
    KeyExists {
        /// Where.
        table: TableId,
        /// Which.
        key: u64,
    },
}

/// What a row was before the transaction touched it.
type Undo = (TableId, u64, Option<Box<[u8]>>);

/// All tables of one workload.
#[derive(Clone, Debug)]
pub struct ReferenceTables {
    schemas: Vec<TableSchema>,
    tables: Vec<BTreeMap<u64, Box<[u8]>>>,
    undo: Vec<Undo>,
}

impl ReferenceTables {
    /// Empty tables.
    pub fn new(schemas: &[TableSchema]) -> Self {
        for (place, schema) in schemas.iter().enumerate() {
            assert_eq!(usize::from(schema.id.0), place, "table {} is out of place", schema.name);
        }
        let tables = vec![BTreeMap::new(); schemas.len()];
        Self { schemas: schemas.to_vec(), tables, undo: Vec::new() }
    }

    /// Adds a row outside any transaction.
    pub fn load(&mut self, table: TableId, key: u64, row: &[u8]) {
        self.check_size(table, row);
        let before = self.tables[usize::from(table.0)].insert(key, row.into());
        assert!(before.is_none(), "table {} loads key {key:#x} twice", table.0);
    }

    /// Runs a procedure: all of its writes stay, or none. Operations outside of this stay at once.
    pub fn transact<T>(
        &mut self,
        procedure: impl FnOnce(&mut Self) -> Result<T, ReferenceAbort>,
    ) -> Result<T, ReferenceAbort> {
        self.undo.clear();
        let outcome = procedure(self);
        if outcome.is_err() {
            while let Some((table, key, before)) = self.undo.pop() {
                let rows = &mut self.tables[usize::from(table.0)];
                match before {
                    Some(row) => rows.insert(key, row),
                    None => rows.remove(&key),
                };
            }
        }
        outcome
    }

    /// How many rows a table has.
    pub fn count(&self, table: TableId) -> usize {
        self.tables[usize::from(table.0)].len()
    }

    /// Every row of a table, in key order.
    pub fn rows(&self, table: TableId) -> impl Iterator<Item = (u64, &[u8])> {
        self.tables[usize::from(table.0)].iter().map(|(key, row)| (*key, row.as_ref()))
    }

    fn check_size(&self, table: TableId, row: &[u8]) {
        let schema = &self.schemas[usize::from(table.0)];
        assert_eq!(row.len(), schema.row_bytes, "row size of table {}", schema.name);
    }

    fn replace(&mut self, table: TableId, key: u64, row: Option<&[u8]>) {
        let rows = &mut self.tables[usize::from(table.0)];
        let before = match row {
            Some(row) => rows.insert(key, row.into()),
            None => rows.remove(&key),
        };
        self.undo.push((table, key, before));
    }

    fn has(&self, table: TableId, key: u64) -> bool {
        self.tables[usize::from(table.0)].contains_key(&key)
    }
}

/// Two twins are equal when their rows are.
impl PartialEq for ReferenceTables {
    fn eq(&self, other: &Self) -> bool {
        self.tables == other.tables
    }
}

impl Tables for ReferenceTables {
    type Abort = ReferenceAbort;

    fn abort(&mut self, cause: AbortCause) -> ReferenceAbort {
        match cause {
            AbortCause::Requested => ReferenceAbort::Requested,
            AbortCause::RowMissing { table, key } => ReferenceAbort::RowMissing { table, key },
        }
    }

    fn read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, ReferenceAbort> {
        self.check_size(table, row);
        let found = self.tables[usize::from(table.0)].get(&key);
        if let Some(bytes) = found {
            row.copy_from_slice(bytes);
        }
        Ok(found.is_some())
    }

    fn write(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), ReferenceAbort> {
        self.check_size(table, row);
        if !self.has(table, key) {
            return Err(ReferenceAbort::RowMissing { table, key });
        }
        self.replace(table, key, Some(row));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), ReferenceAbort> {
        self.check_size(table, row);
        if self.has(table, key) {
            return Err(ReferenceAbort::KeyExists { table, key });
        }
        self.replace(table, key, Some(row));
        Ok(())
    }

    fn delete(&mut self, table: TableId, key: u64) -> Result<(), ReferenceAbort> {
        if !self.has(table, key) {
            return Err(ReferenceAbort::RowMissing { table, key });
        }
        self.replace(table, key, None);
        Ok(())
    }

    fn scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(u64, &[u8]),
    ) -> Result<(), ReferenceAbort> {
        let range = self.tables[usize::from(table.0)].range(keys);
        match direction {
            Direction::Forward => range.take(limit).for_each(|(key, row)| visit(*key, row)),
            Direction::Backward => range.rev().take(limit).for_each(|(key, row)| visit(*key, row)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(0);

    fn tables() -> ReferenceTables {
        let schema = TableSchema { id: TABLE, name: "numbers", row_bytes: 8 };
        let mut tables = ReferenceTables::new(&[schema]);
        (1..=5_u64).for_each(|key| tables.load(TABLE, key, &key.to_le_bytes()));
        tables
    }

    #[test]
    fn a_failed_transaction_leaves_nothing() {
        let mut tables = tables();
        let before = tables.clone();
        let outcome = tables.transact(|tables| {
            tables.write(TABLE, 1, &[9; 8])?;
            tables.write(TABLE, 1, &[8; 8])?;
            tables.delete(TABLE, 2)?;
            tables.insert(TABLE, 6, &[0; 8])?;
            tables.delete(TABLE, 7)
        });
        assert_eq!(outcome, Err(ReferenceAbort::RowMissing { table: TABLE, key: 7 }));
        assert_eq!(tables, before);
    }

    #[test]
    fn an_existing_key_cannot_be_inserted() {
        let outcome = tables().transact(|tables| tables.insert(TABLE, 5, &[0; 8]));
        assert_eq!(outcome, Err(ReferenceAbort::KeyExists { table: TABLE, key: 5 }));
    }

    #[test]
    fn scans_respect_range_order_and_limit() {
        for (direction, expected) in [(Direction::Forward, [2, 3]), (Direction::Backward, [4, 3])] {
            let mut seen = Vec::new();
            let scanned = tables().scan(TABLE, 2..=4, direction, 2, |key, _| seen.push(key));
            assert_eq!((scanned, seen.as_slice()), (Ok(()), expected.as_slice()));
        }
    }
}
