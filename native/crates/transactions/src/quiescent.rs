//! Reading tables while nobody writes, without concurrency control.

use std::ops::RangeInclusive;

use assay_index::{Caller, Index, NodeSet};
use assay_workload::tables::{AbortCause, Direction, TableId, Tables};

use crate::base::{Base, Table};
use crate::cc::Protocol;
use crate::error::Failure;
use crate::limbo::Limbo;
use crate::loader::enter;
use crate::row::Row;
use crate::rows::RowAccess;

/// A reader for checks of consistency; writing through it is refused.
pub struct Quiescent<'d, C: Protocol> {
    shared: &'d C,
    base: &'d Base,
    worker: usize,
    caller: Caller,
    nodes: NodeSet,
    rows: RowAccess,
}

impl<'d, C: Protocol> Quiescent<'d, C> {
    pub(crate) fn new(shared: &'d C, base: &'d Base) -> Self {
        let worker = enter(base);
        let (caller, nodes) = (base.caller(), NodeSet::untracked());
        Self { shared, base, worker, caller, nodes, rows: RowAccess::new(&base.rows) }
    }

    /// How many rows a table has.
    ///
    /// # Errors
    /// `RowStore`.
    pub fn count(&mut self, table: TableId) -> Result<usize, Failure> {
        let mut count = 0;
        self.scan(table, 0..=u64::MAX, Direction::Forward, usize::MAX, |_, _| count += 1)?;
        Ok(count)
    }

    fn locate(&mut self, reference: u64) -> Result<Option<Row>, Failure> {
        let row = self.rows.locate(reference).map_err(Failure::RowStore)?;
        Ok(self.shared.committed(row).is_some().then_some(row))
    }
}

impl<C: Protocol> Drop for Quiescent<'_, C> {
    fn drop(&mut self) {
        self.base.leave(self.worker, Limbo::default());
    }
}

impl<C: Protocol> Tables for Quiescent<'_, C> {
    type Abort = Failure;

    fn abort(&mut self, cause: AbortCause) -> Failure {
        match cause {
            AbortCause::Requested => Failure::Requested,
            AbortCause::RowMissing { table, key } => Failure::RowMissing { table, key },
        }
    }

    fn read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, Failure> {
        let Table { schema, index, .. } = &self.base.tables[usize::from(table.0)];
        // A longer one would be filled from beyond the row.
        assert_eq!(row.len(), schema.row_bytes, "row size of table {}", schema.name);
        let Some(reference) = index.find(key, &mut self.caller, &mut self.nodes) else {
            return Ok(false);
        };
        let found = self.locate(reference)?;
        if let Some(found) = found {
            found.copy_to(C::PREFIX, row);
        }
        self.rows.end();
        Ok(found.is_some())
    }

    fn write(&mut self, _: TableId, _: u64, _: &[u8]) -> Result<(), Failure> {
        Err(Failure::WroteInReadOnly)
    }

    fn insert(&mut self, _: TableId, _: u64, _: &[u8]) -> Result<(), Failure> {
        Err(Failure::WroteInReadOnly)
    }

    fn delete(&mut self, _: TableId, _: u64) -> Result<(), Failure> {
        Err(Failure::WroteInReadOnly)
    }

    fn scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(u64, &[u8]),
    ) -> Result<(), Failure> {
        let Self { shared, base, caller, nodes, rows, .. } = self;
        let table = &base.tables[usize::from(table.0)];
        let mut row = vec![0; table.words * 8];
        let mut left = limit;
        let mut outcome = Ok(());
        let mut step = |key, reference| {
            if left == 0 {
                return false;
            }
            match rows.locate(reference) {
                Ok(found) if shared.committed(found).is_some() => {
                    found.copy_to(C::PREFIX, &mut row);
                    visit(key, &row);
                    left -= 1;
                    rows.end();
                }
                Ok(_) => {}
                Err(error) => outcome = Err(Failure::RowStore(error)),
            }
            outcome.is_ok()
        };
        let scanned = match direction {
            Direction::Forward => table.index.scan(keys.clone(), caller, nodes, &mut step),
            Direction::Backward => table.index.scan_back(keys.clone(), caller, nodes, &mut step),
        };
        if scanned.is_err() {
            let entries = sorted(table.index.as_ref(), keys, direction, caller);
            let _ = entries.into_iter().all(|(key, reference)| step(key, reference));
        }
        outcome
    }
}

/// The entries of an index without order, in the order of a scan.
fn sorted(
    index: &dyn Index,
    keys: RangeInclusive<u64>,
    direction: Direction,
    caller: &mut Caller,
) -> Vec<(u64, u64)> {
    let mut entries = Vec::new();
    index.each(caller, &mut |key, reference| {
        if keys.contains(&key) {
            entries.push((key, reference));
        }
    });
    entries.sort_unstable();
    if direction == Direction::Backward {
        entries.reverse();
    }
    entries
}
