//! The redo log of the transactional engine: when a commit is on disk, and how to get back to the
//! last one that was.
//!
//! A transaction appends one record at commit: its TID and its writes. Five modes (`LogMode`) make
//! records durable in different ways and share everything else: the format (`format`), the hand-off
//! from workers to the one that writes (`group`), the file (`Storage`) and recovery (`recover`). So
//! a study that changes the mode changes nothing but the mode.
//!
//! ```
//! use assay_log::{Acknowledged, Change, Log, LogMode, Options, recover};
//! use assay_primitives::Clock;
//!
//! # let path = std::env::temp_dir().join(format!("assay-log-doc-{}", std::process::id()));
//! let options = Options::new(Clock::calibrated());
//! let log = Log::create(&path, LogMode::Group, options)?;
//! let mut worker = log.worker();
//! worker.put(1, 42, b"row");
//! assert!(matches!(worker.commit(7)?, Acknowledged::Durable(_)));
//! log.close()?;
//!
//! let mut rows = Vec::new();
//! let recovered = recover(&path, &mut |record| {
//!     for write in record.writes() {
//!         if let Change::Put(row) = write.change {
//!             rows.push((record.tid, write.table, write.key, row.to_vec()));
//!         }
//!     }
//! })?;
//! assert_eq!(rows, [(7, 1, 42, b"row".to_vec())]);
//!
//! let log = Log::append_to(&recovered, LogMode::PrivateGroup, options)?;
//! # log.close()?;
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), assay_log::LogError>(())
//! ```
//!
//! **What is promised.** A commit acknowledged as `Durable` is there after the process is killed
//! or, as far as fdatasync holds on this device, after power is lost. Recovery yields a prefix of
//! the log in any case. After a failed write or sync the log takes no commit any more. Log order
//! follows dependencies when `Writer::append` is called before the transaction's rows are released;
//! replay goes by TID per key (see `recover`).
//!
//! **What it is not.** No undo and no pages: the engine keeps rows in memory and logs only what
//! committed. No checkpoint, and one file that grows. No epochs, and no logger per core with a file
//! of its own, as Silo has (Zheng et al., "Fast Databases with Fast Durability and Recovery Through
//! Multicore Parallelism", OSDI 2014): its epochs would make `per-commit` and `group` something
//! else, and two cores do not need several log files. No replication.
//!
//! Sources: DeWitt et al., SIGMOD 1984 (group commit); Mohan et al., ARIES, TODS 1992 (what redo
//! needs); Dan Luu, "Files are hard"; the PostgreSQL fsync discussion of 2018 ("fsyncgate") and
//! Rebello et al., USENIX ATC 2020; Pillai et al., "All File Systems Are Not Created Equal",
//! OSDI 2014 (sync the folder too; a checksum for every record); SAP ASE's private log cache.

mod counts;
mod error;
mod flusher;
mod format;
mod group;
mod log;
mod mode;
mod record;
mod recover;
mod storage;
mod writer;

pub use counts::{LogCounts, WriterCounts};
pub use error::LogError;
pub use log::{Log, Options};
pub use mode::{Acknowledged, LogMode, Lsn};
pub use record::{Change, Record, Write};
pub use recover::{Recovered, Tail, recover};
pub use storage::Storage;
pub use writer::Writer;
