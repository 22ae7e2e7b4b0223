//! Concurrency control: the part that decides what a transaction may see and whether it may commit.
//!
//! A kind is a type, the code that calls it is compiled once per kind. What the kinds share (write
//! sets, node sets, the index, the log, reuse of memory) is in [`crate::core`].

pub mod lock_word;
pub mod multi_version;
pub mod optimistic;
pub mod seqlock;
pub mod two_phase;
pub mod versions;

use assay_primitives::Address;

use crate::core::{Core, Place};
use crate::error::Abort;
use crate::kind::CcKind;
use crate::row::Row;

/// What a read found at a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The row, of the version with this TID.
    Present(u64),
    /// No row as far as this transaction is concerned.
    Absent,
    /// A row that has left the index: look the key up again.
    Dead,
}

/// What claiming a row for writing found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A row; its header before.
    Present(u64),
    /// A deleted row that can be put back; its header before.
    Absent(u64),
    /// A row that has left the index: look the key up again.
    Dead,
}

/// What a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To replace or delete a row.
    Change,
    /// To add a row.
    Insert,
}

/// How an attempt begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The same transaction was tried before.
    pub is_retry: bool,
    /// The transaction was declared read-only.
    pub is_read_only: bool,
}

/// One kind of concurrency control. The value is what workers share.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// Which.
    const KIND: CcKind;
    /// Words before a row's own.
    const PREFIX: usize;
    /// Whether nobody else changes a row that was read for update.
    const HOLDS: bool;
    /// What each worker keeps.
    type Local: Send;

    /// Nothing runs yet.
    fn new() -> Self;

    /// A function that only this kind calls; `Core::witnessed` counts the calls.
    fn witness(&self) -> Address;

    /// For a new worker.
    fn local(&self, core: &mut Core<'_>) -> Self::Local;

    /// No TID up to this one is given out.
    fn raise_tid(&self, _tid: u64) {}

    /// What new snapshots begin from, if there are snapshots.
    fn visible(&self) -> Option<&assay_primitives::sync::AtomicU64> {
        None
    }

    /// Begins an attempt.
    fn begin(&self, local: &mut Self::Local, core: &mut Core<'_>, start: Start);

    /// The snapshot that the attempt reads, if it does.
    fn snapshot(&self, _local: &Self::Local) -> Option<u64> {
        None
    }

    /// Copies a row out and remembers that it was read.
    fn read(
        &self,
        local: &mut Self::Local,
        core: &mut Core<'_>,
        place: &Place,
        row: &mut [u8],
    ) -> Result<Seen, Abort>;

    /// Makes a row the transaction's own to change at commit.
    fn claim(
        &self,
        local: &mut Self::Local,
        core: &mut Core<'_>,
        place: &Place,
        purpose: Purpose,
    ) -> Result<Claim, Abort>;

    /// Sets the headers of a row that is about to be put into the index, as an insert that has not
    /// committed. Returns the header.
    fn prepare(&self, local: &Self::Local, row: Row) -> u64;

    /// Sets the headers of a row that is loaded.
    fn load(&self, row: Row, tid: u64);

    /// The TID of the row's committed version, if there is one; while nobody writes.
    fn committed(&self, row: Row) -> Option<u64>;

    /// Whether what the attempt read was there at one moment.
    fn check(&self, local: &mut Self::Local, core: &mut Core<'_>) -> Result<(), Abort>;

    /// Commits; the TID, if something was written. After an error `roll_back` is called.
    fn commit(&self, local: &mut Self::Local, core: &mut Core<'_>) -> Result<Option<u64>, Abort>;

    /// Undoes what the attempt did to rows and indexes.
    fn roll_back(&self, local: &mut Self::Local, core: &mut Core<'_>);

    /// Between two transactions.
    fn tidy(&self, _local: &mut Self::Local, _core: &mut Core<'_>) {}

    /// How much waits to be reused, beyond rows.
    fn garbage(&self, _local: &Self::Local) -> usize {
        0
    }

    /// The worker ends.
    fn leave(&self, _local: &mut Self::Local, _core: &mut Core<'_>) {}
}
