//! What can go wrong in the engine.

use assay_data_cache::CacheError;
use assay_index::IndexError;
use assay_log::LogError;
use assay_primitives::PrimitiveError;
use assay_transactions::{Failure, TransactionError};
use thiserror::Error;

/// The engine cannot be built, or cannot go on.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A primitive is missing here or failed.
    #[error(transparent)]
    Primitive(#[from] PrimitiveError),
    /// The data cache or its backing file cannot give a page.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A data cache of a share that is less than the sessions use at once.
    #[error(
        "parts.cache_share is {share}: {pages} pages of the loaded records' {of} are fewer than \
         the {least} that {sessions} sessions may use at once"
    )]
    CacheTooSmall {
        /// The share asked for, in percent.
        share: usize,
        /// What it comes to.
        pages: usize,
        /// Pages of the loaded records.
        of: usize,
        /// The least that is enough.
        least: usize,
        /// Sessions that pin pages.
        sessions: usize,
    },
    /// Inserts have used up the key space that was sized for the expected operations.
    #[error("the key space of {capacity} records is full: the run inserted more than expected")]
    Full {
        /// Records that there was room for.
        capacity: u64,
    },
    /// The arena was sized wrongly: a defect of this crate.
    #[error("the arena has no room for {0}: this is a defect in its sizing")]
    ArenaFull(&'static str),
    /// Parts that are not built together.
    #[error("{wanted} is not a combination that is built here: {near} would be")]
    Unlisted {
        /// What was asked for.
        wanted: String,
        /// What would have to change.
        near: String,
    },
    /// The tables cannot be made or loaded.
    #[error(transparent)]
    Transactions(#[from] TransactionError),
    /// A transaction failed for good.
    #[error("a transaction failed: {0}")]
    Transaction(#[from] Failure),
    /// An index cannot be built.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The log cannot be made.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log's file cannot be hidden.
    #[error("the log's file {path} cannot be removed from its folder: {source}")]
    LogFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A lock that is written to enter it, so that two transactions would always conflict.
    #[error(
        "parts.elision is on and parts.lock is {lock}: only ttas is elided, because the others \
         are written or wait in their own way before they are entered"
    )]
    Elision {
        /// The lock asked for.
        lock: &'static str,
    },
    /// A choice of parts that cannot be built.
    #[error("parts.{name} is {value}: must be {allowed}")]
    Part {
        /// The part.
        name: &'static str,
        /// What was given.
        value: usize,
        /// What would be accepted.
        allowed: &'static str,
    },
}
