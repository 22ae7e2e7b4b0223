//! What recovery hands to the engine: one transaction and its writes.

use crate::Lsn;
use crate::format::split_write;

/// What a transaction did to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The row is now these bytes.
    Put(&'a [u8]),
    /// The row is gone.
    Delete,
}

/// One write of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// The table.
    pub table: u16,
    /// The key in it.
    pub key: u64,
    /// What became of the row.
    pub change: Change<'a>,
}

/// One committed transaction, whole and unchanged (both checksums were right).
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its place in the log: 1, 2, 3, ... without gaps.
    pub sequence: u64,
    /// The transaction. Per key, the write with the highest TID is the one that counts.
    pub tid: u64,
    /// Where the record ends: what `commit` returned.
    pub lsn: Lsn,
    body: &'a [u8],
}

impl<'a> Record<'a> {
    /// `None` when the body is not a list of writes.
    pub(crate) fn new(sequence: u64, tid: u64, lsn: Lsn, body: &'a [u8]) -> Option<Self> {
        let mut rest = body;
        while !rest.is_empty() {
            (_, _, _, rest) = split_write(rest)?;
        }
        Some(Self { sequence, tid, lsn, body })
    }

    /// The writes, in the order in which the transaction made them.
    pub fn writes(&self) -> impl Iterator<Item = Write<'a>> + use<'a> {
        let mut rest = self.body;
        std::iter::from_fn(move || {
            let (table, key, change, after) = split_write(rest)?;
            rest = after;
            Some(Write { table, key, change })
        })
    }
}
