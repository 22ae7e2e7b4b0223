//! congee: an adaptive radix tree with optimistic lock coupling. An index, no transactions.
//!
//! It maps a key to one word, so the records lie in rows of our own, each under a version word:
//! congee is the index, and the row costs what such a row costs anybody.

use anyhow::{Context, Result};
use assay_workload::{Operation, Values};
use congee::U64Congee;
use congee::epoch::{Guard, pin};

use crate::peer::{Field, Peer, Session, Setup};
use crate::seq_rows::SeqRows;

struct Congee {
    index: U64Congee<usize>,
    rows: SeqRows,
}

/// Rows beside those loaded, for the records that the check inserts.
const SPARE_ROWS: usize = 1024;

/// An empty tree.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let shape = setup.shape;
    let rows = SeqRows::new(shape.records as usize + SPARE_ROWS, shape.record_bytes());
    Ok(Box::new(Congee { index: U64Congee::new(), rows }))
}

impl Peer for Congee {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut { self })
    }
}

/// The tree under a guard, which is taken once per batch.
struct Pinned<'a> {
    tree: &'a Congee,
    guard: Guard,
}

impl Session for Pinned<'_> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let row = self.tree.index.get(key, &self.guard);
        Ok(row.is_some_and(|row| self.tree.rows.read(row, copy)))
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let row = self.tree.index.get(key, &self.guard);
        Ok(row.is_some_and(|row| self.tree.rows.write(row, field)))
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let row = self.tree.rows.add(record).context("congee: the rows are used up")?;
        let inserted = self.tree.index.insert(key, row, &self.guard);
        inserted.map_err(|_| anyhow::anyhow!("congee: no memory"))?;
        Ok(())
    }
}

impl Session for &Congee {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        Pinned { tree: self, guard: pin() }.get(key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        Pinned { tree: self, guard: pin() }.update(key, field)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        Pinned { tree: self, guard: pin() }.insert(key, record)
    }

    fn execute(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        Pinned { tree: self, guard: pin() }.execute(batch, values, copy)
    }
}
