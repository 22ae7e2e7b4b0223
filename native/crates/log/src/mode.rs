//! When a commit is on disk, and what a commit was told about it.

use assay_primitives::named;

named! {
    /// How the log makes commits durable.
    #[derive(Hash)]
    pub enum LogMode {
        /// No log at all: nothing is encoded, no file is touched.
        None "none",
        /// Every commit writes and syncs its own record, one after the other.
        PerCommit "per-commit",
        /// One of the waiting commits writes and syncs for all that are there. Records are encoded
        /// into the shared buffer, under the shared lock.
        Group "group",
        /// As `Group`, but each worker encodes into a buffer of its own and hands the finished record
        /// over in one piece (SAP ASE calls such a buffer a private log cache).
        PrivateGroup "private-group",
        /// A commit returns at once; a thread makes durable what is there at a fixed interval.
        Asynchronous "asynchronous",
    }
}

impl LogMode {
    /// Whether a commit that returned is on disk.
    pub fn is_durable(self) -> bool {
        match self {
            LogMode::None | LogMode::Asynchronous => false,
            LogMode::PerCommit | LogMode::Group | LogMode::PrivateGroup => true,
        }
    }
}

/// A place in the log: the byte after the last one of a record. Everything up to `durable()` is on
/// disk. Places grow in the order in which records stand in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// What a commit may tell its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The record, and every record before it, is on disk.
    Durable(Lsn),
    /// The record may be lost in a crash (until `Log::durable` has reached this place).
    Volatile(Lsn),
}

impl Acknowledged {
    /// The place up to which the transaction's record reaches.
    pub fn lsn(self) -> Lsn {
        match self {
            Acknowledged::Durable(lsn) | Acknowledged::Volatile(lsn) => lsn,
        }
    }
}
