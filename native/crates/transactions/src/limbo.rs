//! Rows that have left their index and wait until no transaction can know them.

use std::collections::VecDeque;

use assay_workload::tables::TableId;

use crate::epochs::Epochs;
use crate::rows::RowAccess;

/// Rows per advance of the epoch: the epoch is a line that all workers read.
const BATCH: usize = 64;

/// A row that has left its index.
#[derive(Clone, Copy, Debug)]
pub struct Retired {
    /// Its table.
    pub table: TableId,
    /// What the store knows it by.
    pub reference: u64,
    /// Its size with headers.
    pub bytes: usize,
}

/// One worker's retired rows.
#[derive(Default)]
pub struct Limbo {
    open: Vec<Retired>,
    sealed: VecDeque<(u64, Vec<Retired>)>,
}

impl Limbo {
    /// Keeps a row until it is safe to reuse.
    pub fn retire(&mut self, row: Retired) {
        self.open.push(row);
    }

    /// Whether there is a batch's worth of rows.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.open.len() >= BATCH
    }

    /// Closes the batch and gives back what has become safe.
    pub fn turn_over(&mut self, epochs: &Epochs, rows: &mut RowAccess) {
        let batch = core::mem::replace(&mut self.open, Vec::with_capacity(BATCH));
        self.sealed.push_back((epochs.advance(), batch));
        let safe = epochs.safe();
        while self.sealed.front().is_some_and(|(tag, _)| *tag < safe) {
            let (_, batch) = self.sealed.pop_front().unwrap_or_default();
            for row in batch {
                // SAFETY: the row has left its index, once, and so long ago that nobody knows it.
                unsafe { rows.release(row.table, row.reference, row.bytes) };
            }
        }
    }

    /// Takes over what another worker left.
    pub fn adopt(&mut self, other: Limbo) {
        self.open.extend(other.open);
        self.open.extend(other.sealed.into_iter().flat_map(|(_, batch)| batch));
    }

    /// How many rows wait.
    pub fn len(&self) -> usize {
        self.open.len() + self.sealed.iter().map(|(_, batch)| batch.len()).sum::<usize>()
    }
}
