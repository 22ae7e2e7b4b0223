//! Ordered indexes: from a key to a row.

pub mod sharded;

use assay_primitives::{Arena, LockContext, RawLock};

use crate::EngineError;
use crate::page::RowId;

/// A key and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: u64,
    /// Where its row is.
    pub row: RowId,
}

/// An ordered map that many threads use at once.
pub trait Index<L: RawLock>: Sized + Send + Sync {
    /// The memory that the index takes from the arena for `capacity` keys.
    fn arena_bytes(capacity: usize, padding: usize) -> usize;

    /// An empty index for up to `capacity` keys.
    fn new(arena: &Arena, capacity: usize, padding: usize) -> Result<Self, EngineError>;

    /// The row of a key.
    fn find(&self, key: u64, waiter: &mut LockContext<L>) -> Option<RowId>;

    /// Adds a key; false if it is there already.
    fn insert(&self, entry: Entry, waiter: &mut LockContext<L>) -> bool;

    /// Appends up to `count` entries to `found`, in key order, from the first key not below `from`.
    fn scan(&self, from: u64, count: usize, waiter: &mut LockContext<L>, found: &mut Vec<Entry>);

    /// The distance between two neighbouring locks, from their addresses.
    fn lock_stride_bytes(&self) -> usize;
}
