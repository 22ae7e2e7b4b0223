//! What can go wrong in a data cache, a pool or the rows on it.

use std::io;
use std::path::PathBuf;

use assay_primitives::PrimitiveError;
use thiserror::Error;

/// A cache cannot be built, or cannot give the page.
#[derive(Debug, Error)]
pub enum CacheError {
    /// A primitive is missing here or failed.
    #[error(transparent)]
    Primitive(#[from] PrimitiveError),
    /// The arena was sized wrongly: a defect of the caller's sizing.
    #[error("the arena has no room for {0}: this is a defect in its sizing")]
    ArenaFull(&'static str),
    /// A size that this kind of cache cannot have.
    #[error("data cache `{kind}`: {what}")]
    Shape {
        /// The kind, by name.
        kind: &'static str,
        /// Which size, and why not.
        what: String,
        /// What would be accepted.
        next: String,
    },
    /// Every frame is in use.
    #[error("all {frames} frames of the data cache are pinned: none can take page {page}")]
    AllPinned {
        /// Frames in the pool.
        frames: usize,
        /// The page that found no frame.
        page: u32,
    },
    /// A page that nobody has created.
    #[error("page {page} does not exist")]
    Unknown {
        /// Its number.
        page: u32,
    },
    /// A page that exists already was created again.
    #[error("page {page} was created twice")]
    Exists {
        /// Its number.
        page: u32,
    },
    /// A file operation on the backing store failed.
    #[error("backing file in {folder}: {call}: {source}")]
    Backing {
        /// The folder of the unlinked file.
        folder: PathBuf,
        /// The call, and what it was for.
        call: String,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A page came back from the backing store with other bytes than it was written with.
    #[error("page {page} came back changed from the backing file in {folder}")]
    Changed {
        /// Its number.
        page: u32,
        /// The folder of the unlinked file.
        folder: PathBuf,
    },
    /// Rows that the tables cannot hold.
    #[error("table {table}: {what}")]
    Table {
        /// Its place among the tables.
        table: usize,
        /// What does not fit, with the numbers.
        what: String,
    },
}

impl CacheError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            CacheError::Primitive(PrimitiveError::Missing { next, .. }) => next.clone(),
            CacheError::Primitive(_) => "read the kernel log".to_owned(),
            CacheError::ArenaFull(_) => "size the arena with `arena_bytes`".to_owned(),
            CacheError::Shape { next, .. } => next.clone(),
            CacheError::AllPinned { .. } => {
                "give the cache more pages than all threads pin together".to_owned()
            }
            CacheError::Unknown { .. } | CacheError::Exists { .. } => {
                "create each page once, before it is looked up".to_owned()
            }
            CacheError::Backing { folder, source, .. } if is_full(source) => {
                format!("free space in {}, or name another folder", folder.display())
            }
            CacheError::Backing { folder, .. } => {
                format!("check {}, its permissions and its device", folder.display())
            }
            CacheError::Changed { folder, .. } => {
                format!(
                    "check the device of {}: what it keeps cannot be relied on",
                    folder.display()
                )
            }
            CacheError::Table { .. } => "declare the table with more capacity".to_owned(),
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
