//! Transaction identifiers, and the header word that carries one.
//!
//! | bits of a TID | meaning |
//! |---|---|
//! | 0..8 | the worker |
//! | 8..59 | a sequence number, higher than that of every version read or replaced |
//!
//! So TIDs grow per key and no two transactions have the same. There is no shared counter (Silo,
//! SOSP 2013). Multi-version concurrency control draws its TIDs from a counter instead, because its
//! snapshots need one order of all commits; its TIDs have no worker.
//!
//! | bits of a header | meaning |
//! |---|---|
//! | 0 | `LOCKED`: a writer has it |
//! | 1 | `ABSENT`: an insert that has not committed, or a deletion that a snapshot may need |
//! | 2 | `DEAD`: the row is out of the index for ever: look the key up again |
//! | 3 | `COMMITTING`: multi-version: the writer validates, readers may still read |
//! | 4 | `INSTALLING`: multi-version: the words are being replaced, read the older version |
//! | 5..64 | the TID of the last committed write |

/// A writer has the row.
pub const LOCKED: u64 = 1;
/// There is no row under the key.
pub const ABSENT: u64 = 1 << 1;
/// The row has left the index.
pub const DEAD: u64 = 1 << 2;
/// The writer has begun to commit.
pub const COMMITTING: u64 = 1 << 3;
/// The words are being replaced.
pub const INSTALLING: u64 = 1 << 4;

const FLAG_BITS: u32 = 5;
const WORKER_BITS: u32 = 8;

/// Workers that a TID can tell apart.
pub const WORKERS_MAX: usize = 1 << WORKER_BITS;

/// The TID of rows that were loaded.
pub const LOADED: u64 = 0;

/// The header of a committed row that nobody writes.
#[inline(always)]
pub const fn header(tid: u64) -> u64 {
    tid << FLAG_BITS
}

/// The TID in a header.
#[inline(always)]
pub const fn tid(header: u64) -> u64 {
    header >> FLAG_BITS
}

/// The smallest TID of a worker that is higher than another TID.
#[inline(always)]
pub const fn next(after: u64, worker: usize) -> u64 {
    ((after >> WORKER_BITS) + 1) << WORKER_BITS | worker as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_tid_is_higher_whatever_the_workers() {
        for (after, worker) in [(0, 0), (0, 255), (255, 0), (256 * 7 + 255, 0)] {
            assert!(next(after, worker) > after);
            assert_eq!(next(after, worker) & 255, worker as u64);
        }
        assert_eq!(tid(header(1 << 50) | LOCKED | DEAD), 1 << 50);
    }
}
