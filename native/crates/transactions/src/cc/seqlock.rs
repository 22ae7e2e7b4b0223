//! The header as a version and a lock: reading a row without writing, installing it whole.
//!
//! Orders, after Boehm ("Can Seqlocks Get Along with Programming Language Memory Models?", MSPC
//! 2012). A reader loads the header with acquire, copies relaxed words, and checks with
//! `fence(Acquire)` and a relaxed load. A writer locks with a compare-and-swap (acquire) and
//! `fence(Release)`, stores relaxed words, and publishes with a release store. A check by acquire
//! load, or a lock by CAS(Release) without the fence, is wrong on weakly ordered CPUs:
//! `tests/loom.rs` shows loom rejecting both.

use crate::tid::{ABSENT, DEAD, LOCKED};
use assay_primitives::sync::{AtomicU64, Ordering, fence};

/// A writer has the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// Copies a row by `copy` and returns its header; `Err` while a writer has it. Of a row that is
/// absent or dead only the header is read.
#[inline(always)]
pub fn read(head: &AtomicU64, copy: impl FnOnce()) -> Result<u64, Busy> {
    let before = head.load(Ordering::Acquire);
    if before & (LOCKED | ABSENT | DEAD) != 0 {
        return if before & LOCKED == 0 { Ok(before) } else { Err(Busy) };
    }
    copy();
    if is_still(head, before, 0) { Ok(before) } else { Err(Busy) }
}

/// Whether everything read since `head` was loaded with acquire as `before` belongs together.
/// Bits of `ignored` may have changed.
#[inline(always)]
pub fn is_still(head: &AtomicU64, before: u64, ignored: u64) -> bool {
    fence(Ordering::Acquire);
    (head.load(Ordering::Relaxed) ^ before) & !ignored == 0
}

/// Locks; `Err` while another writer has it. The header before is returned. After the last lock
/// and before the first word is stored there must be a `begin_install`.
#[inline(always)]
pub fn lock(head: &AtomicU64) -> Result<u64, Busy> {
    let before = head.load(Ordering::Relaxed);
    if before & LOCKED != 0 {
        return Err(Busy);
    }
    let (taken, failed) = (Ordering::Acquire, Ordering::Relaxed);
    head.compare_exchange(before, before | LOCKED, taken, failed).map_err(|_| Busy)
}

/// Keeps the words' stores behind the locks.
#[inline(always)]
pub fn begin_install() {
    fence(Ordering::Release);
}

/// Publishes a header, and all words stored before.
#[inline(always)]
pub fn publish(head: &AtomicU64, header: u64) {
    head.store(header, Ordering::Release);
}
