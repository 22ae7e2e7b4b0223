//! A row with older versions: reading it as of a snapshot, and installing a newer one.
//!
//! The newest committed version lies in the row itself (as Cicada's inlined versions, Lim et al.,
//! SIGMOD 2017), older ones in blocks of the same layout, linked from new to old by the second
//! header word. A block never changes. The writer links a copy of the current version *before* it
//! marks the row `INSTALLING`, so a reader that finds the row being changed, or changed after its
//! snapshot, finds what it needs in the chain: it never waits.
//!
//! A version is not needed any more when every snapshot is as new as its successor. Nobody walks
//! that far then, so links to blocks that were reused are never followed.

use core::ptr::NonNull;

use crate::cc::seqlock;
use crate::row::Row;
use crate::rows::pointer;
use crate::tid::{self, ABSENT, COMMITTING, DEAD, INSTALLING, LOCKED};
use assay_primitives::sync::Ordering;

/// What a snapshot shows of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// The newest version, with this header.
    Newest(u64),
    /// An older version, with this header.
    Older(u64),
    /// Nothing: the row is younger than the snapshot.
    Never,
    /// A row that has left the index.
    Dead,
}

/// Bits that say that somebody will write, while the version is still what it was.
pub const CLAIMED: u64 = LOCKED | COMMITTING;

/// Reads a row as of a snapshot. `copy` may be called more than once; the last call counts.
///
/// # Safety
/// `snapshot` is not older than what keeps versions from being reused.
#[inline(always)]
pub unsafe fn read(row: Row, snapshot: u64, mut copy: impl FnMut(Row)) -> Visible {
    loop {
        let header = row.head().load(Ordering::Acquire);
        if header & DEAD != 0 {
            return Visible::Dead;
        }
        if header & INSTALLING != 0 || tid::tid(header) > snapshot {
            // SAFETY: the caller's promise.
            return unsafe { read_older(row, snapshot, copy) };
        }
        if header & ABSENT != 0 {
            return Visible::Newest(header & !CLAIMED);
        }
        copy(row);
        if seqlock::is_still(row.head(), header, CLAIMED) {
            return Visible::Newest(header & !CLAIMED);
        }
    }
}

/// # Safety
/// As for `read`.
#[cold]
#[inline(never)]
unsafe fn read_older(row: Row, snapshot: u64, mut copy: impl FnMut(Row)) -> Visible {
    let mut newer = row;
    loop {
        let link = newer.second().load(Ordering::Acquire);
        let Some(words) = NonNull::new(pointer(link)) else { return Visible::Never };
        // SAFETY: links lead to blocks, which are kept while a snapshot may need them; the walk
        // ends at the first version that is not newer than the snapshot.
        let version = unsafe { Row::at(words) };
        let header = version.head().load(Ordering::Relaxed);
        if tid::tid(header) <= snapshot {
            if header & ABSENT == 0 {
                copy(version);
            }
            return Visible::Older(header);
        }
        newer = version;
    }
}

/// Fills a block with the current version of a row that the caller has locked.
pub fn keep(row: Row, before: u64, block: Row, prefix: usize, words: usize) {
    block.head().store(before, Ordering::Relaxed);
    block.key().store(row.key().load(Ordering::Relaxed), Ordering::Relaxed);
    block.second().store(row.second().load(Ordering::Relaxed), Ordering::Relaxed);
    if before & ABSENT == 0 {
        block.copy_from(row, prefix, words);
    }
}

/// Links a block that `keep` has filled, as the version before the one that will be installed.
pub fn link(row: Row, block: Row) {
    row.second().store(block.address(), Ordering::Release);
}

/// Installs a version of a row that the caller has locked, and unlocks.
pub fn install(row: Row, before: u64, tid: u64, write: impl FnOnce()) {
    row.head().store(before | CLAIMED | INSTALLING, Ordering::Release);
    seqlock::begin_install();
    write();
    seqlock::publish(row.head(), tid::header(tid));
}
