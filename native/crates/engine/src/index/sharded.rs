//! Range shards: the key space is cut into equal ranges, each a small sorted array under a lock.
//!
//! Keys are hashes, spread evenly over [0, 2^63], so equal ranges hold nearly equal numbers of keys
//! and the shard of a key is a shift away. That makes this index as good as it gets for hashed
//! keys and useless for others; a tree is a part to add, behind the same trait. Locks lie in a
//! table with the arm's padding, apart from the arrays, so that padding alone decides which locks
//! share a cache line.

use core::cell::UnsafeCell;

use assay_primitives::{Arena, LockContext, LockTable, RawLock};

use super::{Entry, Index};
use crate::EngineError;
use crate::page::RowId;

/// The index of kind "sharded".
pub struct Sharded<L> {
    locks: LockTable<L>,
    shards: Box<[UnsafeCell<Vec<Entry>>]>,
    shift: u32,
}

/// Keys per shard at full capacity: four cache lines to search, and a short move at an insert.
const KEYS_PER_SHARD: usize = 16;
/// Keys are below 2^63, one hash value excepted (see `shard_of`).
const KEY_BITS: u32 = 63;

// SAFETY: the arrays are reached only while holding their lock.
unsafe impl<L: RawLock> Sync for Sharded<L> {}
// SAFETY: owns its arrays; the lock table is Send.
unsafe impl<L: RawLock> Send for Sharded<L> {}

impl<L: RawLock> Sharded<L> {
    fn shard_count(capacity: usize) -> usize {
        (capacity / KEYS_PER_SHARD).next_power_of_two().max(2)
    }

    /// The hash 2^63 (Java's smallest number, made positive) belongs to the last shard.
    #[inline(always)]
    fn shard_of(&self, key: u64) -> usize {
        ((key >> self.shift) as usize).min(self.shards.len() - 1)
    }

    #[inline(always)]
    fn with_shard<T>(
        &self,
        shard: usize,
        waiter: &mut LockContext<L>,
        body: impl FnOnce(&mut Vec<Entry>) -> T,
    ) -> T {
        let entries = self.shards[shard].get();
        // SAFETY: there are as many locks as shards, and this is one.
        let lock = unsafe { self.locks.lock_unchecked(shard) };
        // SAFETY: the shard's lock is held while the reference lives.
        waiter.with(lock, || body(unsafe { &mut *entries }))
    }
}

#[inline(always)]
fn position(entries: &[Entry], key: u64) -> Result<usize, usize> {
    entries.binary_search_by_key(&key, |entry| entry.key)
}

impl<L: RawLock> Index<L> for Sharded<L> {
    fn arena_bytes(capacity: usize, padding: usize) -> usize {
        LockTable::<L>::bytes(Self::shard_count(capacity), padding)
    }

    fn new(arena: &Arena, capacity: usize, padding: usize) -> Result<Self, EngineError> {
        let count = Self::shard_count(capacity);
        let locks = LockTable::new(arena, count, padding)
            .ok_or(EngineError::ArenaFull("the index locks"))?;
        let shards = (0..count).map(|_| UnsafeCell::new(Vec::new())).collect();
        Ok(Self { locks, shards, shift: KEY_BITS - count.trailing_zeros() })
    }

    #[inline]
    fn find(&self, key: u64, waiter: &mut LockContext<L>) -> Option<RowId> {
        self.with_shard(self.shard_of(key), waiter, |entries| {
            position(entries, key).ok().map(|place| entries[place].row)
        })
    }

    fn insert(&self, entry: Entry, waiter: &mut LockContext<L>) -> bool {
        self.with_shard(self.shard_of(entry.key), waiter, |entries| {
            let Err(place) = position(entries, entry.key) else { return false };
            entries.insert(place, entry);
            true
        })
    }

    fn scan(&self, from: u64, count: usize, waiter: &mut LockContext<L>, found: &mut Vec<Entry>) {
        let wanted = found.len() + count;
        for shard in self.shard_of(from)..self.shards.len() {
            self.with_shard(shard, waiter, |entries| {
                let start = position(entries, from).unwrap_or_else(|place| place);
                let end = entries.len().min(start + wanted - found.len());
                found.extend_from_slice(&entries[start..end]);
            });
            if found.len() == wanted {
                return;
            }
        }
    }

    fn lock_stride_bytes(&self) -> usize {
        self.locks.measured_stride_bytes()
    }
}
