//! Why an attempt ended, why a transaction failed, and why there is no database.

use assay_log::LogError;
use assay_primitives::PrimitiveError;
use assay_workload::tables::TableId;
use thiserror::Error;

/// Why one attempt at a transaction ended without a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A lock was taken, and waiting for it is not this kind's way.
    LockBusy,
    /// A lock was taken by an older transaction (wait-die).
    Died,
    /// A row that was read has changed since.
    ReadChanged,
    /// Keys came or went where this transaction looked for them.
    NodeChanged,
    /// A row to be written was committed after this transaction's snapshot (multi-version).
    WriteTooLate,
    /// A row that must exist was not there.
    RowMissing {
        /// Where it was looked for.
        table: TableId,
        /// Under which key.
        key: u64,
    },
    /// An inserted key was there already.
    KeyExists {
        /// Where.
        table: TableId,
        /// Which key.
        key: u64,
    },
    /// The procedure wanted to be rolled back.
    Requested,
    /// A transaction that was declared read-only wrote.
    WroteInReadOnly,
    /// An index or the row store has no room.
    Full(Full),
    /// The row store could not read or make a row; the failure has the details.
    RowStore,
    /// The log did not take the commit; the failure has the details.
    Log,
}

impl Cause {
    /// Whether another attempt may succeed.
    pub fn is_retryable(self) -> bool {
        use Cause::{Died, LockBusy, NodeChanged, ReadChanged, WriteTooLate};
        matches!(self, LockBusy | Died | ReadChanged | NodeChanged | WriteTooLate)
    }
}

/// What a procedure gets, and returns at once, when its attempt has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    pub(crate) cause: Cause,
}

impl Abort {
    /// Why.
    pub fn cause(self) -> Cause {
        self.cause
    }
}

impl From<Cause> for Abort {
    fn from(cause: Cause) -> Self {
        Self { cause }
    }
}

/// What has no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Full {
    /// An index.
    #[error("the index of table {} is full: open the database with a larger capacity", .0.0)]
    Index(TableId),
    /// The memory or the pages for rows.
    #[error("there is no room for another row in table {}: give the row store more", .0.0)]
    Rows(TableId),
}

/// What a row store answers when it cannot do its work.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RowStoreError {
    /// There is no room for another row.
    #[error("the row store is full")]
    Full,
    /// Reading or writing failed; the text says what and where.
    #[error("row store: {0}")]
    Failed(String),
}

/// Why a transaction will not commit, however often it is tried.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// The procedure wanted to be rolled back.
    #[error("rolled back as the procedure demanded")]
    Requested,
    /// A row that must exist was not there.
    #[error("table {} has no row {key:#x}", table.0)]
    RowMissing {
        /// Where it was looked for.
        table: TableId,
        /// Under which key.
        key: u64,
    },
    /// An inserted key was there already.
    #[error("table {} already has row {key:#x}", table.0)]
    KeyExists {
        /// Where.
        table: TableId,
        /// Which key.
        key: u64,
    },
    /// A transaction that was declared read-only wrote.
    #[error("a transaction declared read-only wrote: run it with `transact`")]
    WroteInReadOnly,
    /// The commit could not be made durable. Except after `LogError::TooLarge` the database takes
    /// no further transaction, and whether recovery finds this one is open.
    #[error("{0}")]
    Log(#[from] LogError),
    /// No room for another key or row.
    #[error("{0}")]
    Full(Full),
    /// The row store failed.
    #[error("{0}")]
    RowStore(RowStoreError),
}

/// Why a database could not be made or loaded.
#[derive(Debug, Error)]
pub enum TransactionError {
    /// An option that makes no sense; the text says which and what would.
    #[error("{0}")]
    Options(String),
    /// Locks, hints or pages that this host does not have.
    #[error(transparent)]
    Primitive(#[from] PrimitiveError),
    /// A loaded row has the wrong size.
    #[error("table {} has rows of {expected} bytes, not {got}", table.0)]
    RowSize {
        /// The table.
        table: TableId,
        /// Its rows.
        expected: usize,
        /// The row that was given.
        got: usize,
    },
    /// There is no such table.
    #[error("there is no table {0}")]
    NoTable(u16),
    /// A key was loaded twice.
    #[error("table {} is loaded with key {key:#x} twice", table.0)]
    Duplicate {
        /// The table.
        table: TableId,
        /// The key.
        key: u64,
    },
    /// No room.
    #[error(transparent)]
    Full(#[from] Full),
    /// The row store failed.
    #[error(transparent)]
    RowStore(#[from] RowStoreError),
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
}
