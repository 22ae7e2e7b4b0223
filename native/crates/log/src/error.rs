//! What can go wrong with a log.
//!
//! An error says what happened and where; `next` says what to do. `Failed` is for good: after one
//! failed write or sync nobody knows which pages the kernel has dropped, and a second fdatasync
//! that succeeds proves nothing ("fsyncgate", PostgreSQL 2018; Rebello et al., "Can Applications
//! Recover from fsync Failures?", USENIX ATC 2020). So the log takes no commit after it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

/// A log could not be made, read, or written.
#[derive(Clone, Debug, Error)]
pub enum LogError {
    /// A write or a sync failed. Every commit that was not durable yet gets this error, and so
    /// does every later one.
    #[error("log {path}: {call} failed ({source}); the log takes no more commits")]
    Failed {
        /// The file.
        path: PathBuf,
        /// `write` or `sync`.
        call: &'static str,
        /// The operating system's answer.
        source: Arc<io::Error>,
    },
    /// A file operation failed before any commit was taken.
    #[error("log {path}: {call}: {source}")]
    Os {
        /// The file or directory.
        path: PathBuf,
        /// The call and what it was for.
        call: &'static str,
        /// The operating system's answer.
        source: Arc<io::Error>,
    },
    /// A new log was asked for where a file is.
    #[error("log {path}: the file exists already")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another open log writes this file.
    #[error("log {path}: another log has it open")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file does not begin as a log does.
    #[error("log {path}: {what}")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What is wrong with its beginning.
        what: &'static str,
    },
    /// The file is not the one that was recovered.
    #[error("log {path}: the file has changed since it was recovered")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// One transaction wrote more than a record may hold. The log itself goes on.
    #[error("transaction {tid} wrote {bytes} bytes of log, more than the {limit} allowed")]
    TooLarge {
        /// The transaction.
        tid: u64,
        /// What its record would have held, as far as it was counted.
        bytes: u64,
        /// The limit, `Options::record_bytes_max`.
        limit: u64,
    },
    /// The log was closed.
    #[error("log {path}: closed")]
    Closed {
        /// The file.
        path: PathBuf,
    },
}

impl LogError {
    /// What to do about it.
    pub fn next(&self) -> &'static str {
        match self {
            LogError::Failed { source, .. } if is_full(source) => {
                "free space where the log is (or raise the quota or file size limit), then \
                 restart: `recover` and `Log::append_to`"
            }
            LogError::Failed { .. } => {
                "read the kernel log for device errors, then restart the process: `recover` and \
                 `Log::append_to`; do not retry the commit in this one"
            }
            LogError::Os { .. } => "check the path, its permissions and the free space",
            LogError::Exists { .. } => {
                "use `recover` and `Log::append_to` to go on with it, or choose another path"
            }
            LogError::InUse { .. } => "close the other log first, or choose another path",
            LogError::NotALog { .. } => "check the path; a log that broke this early held nothing",
            LogError::Changed { .. } => "recover it again, with no other writer",
            LogError::TooLarge { .. } => {
                "split the transaction, or raise `Options::record_bytes_max`"
            }
            LogError::Closed { .. } => "close a log only after its writers have ended",
        }
    }

    pub(crate) fn os(path: &std::path::Path, call: &'static str, source: io::Error) -> Self {
        Self::Os { path: path.to_owned(), call, source: Arc::new(source) }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
