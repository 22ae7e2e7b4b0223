//! Sessions that are told several operations at a time, and carry them out in one transaction.

use anyhow::Result;
use assay_workload::{Operation, OperationKind, Values};

use crate::peer::{AHEAD, Field, Session};

/// A store whose transactions hold several operations.
pub trait Transactional: Session {
    /// Carries out some operations in one transaction; returns how many found no record.
    fn transact(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize>;
}

/// Whether a transaction of these may be one that only reads.
pub fn is_read_only(batch: &[Operation]) -> bool {
    batch.iter().all(|operation| operation.kind != OperationKind::Update)
}

/// A session whose batches are transactions.
pub struct Batched<S>(pub S);

impl<S: Transactional> Session for Batched<S> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        self.0.get(key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        self.0.update(key, field)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.0.insert(key, record)
    }

    fn execute(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let mut missed = 0;
        for operations in batch.chunks(AHEAD) {
            missed += self.0.transact(operations, values, copy)?;
        }
        Ok(missed)
    }
}
