//! What the tests share: waiters, pages that say who they are, and a backing store in memory.
#![allow(dead_code)] // Each test file uses its own part of this.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};

use assay_data_cache::{
    Backing, CacheError, DataCache, PageCache, PageId, Pinned, Pool, PoolCaller, Unwatched,
};
use assay_primitives::locks::Waiting;
use assay_primitives::{AnyLockContext, Clock, Hint, LockContext, LockKind, RawLock};

/// A waiting for locks of a kind, with the architecture's usual hint.
pub fn waiting(lock: LockKind) -> Waiting {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Yield };
    let clock = *CLOCK.get_or_init(Clock::calibrated);
    Waiting::new(lock, hint, 1 << 8, clock).expect("every CPU has this hint")
}

/// A context for a cache with locks of a kind.
pub fn locks(lock: LockKind) -> AnyLockContext {
    AnyLockContext::new(waiting(lock))
}

/// A caller of a pool with locks of a kind.
pub fn caller<L: RawLock>(lock: LockKind) -> PoolCaller<L> {
    PoolCaller::new(LockContext::new(waiting(lock)))
}

/// Gives a pin back to its pool.
pub fn give_back<L: RawLock, D: DataCache<L>>(
    pool: &Pool<L, D>,
    pinned: Pinned,
    caller: &mut PoolCaller<L>,
) {
    // SAFETY: a test has one pool, and looks at no page that it has given back.
    unsafe { pool.unpin(pinned, caller) }
}

/// Gives a pin back to its cache.
pub fn unpin(cache: &dyn PageCache, pinned: Pinned, locks: &mut AnyLockContext) {
    // SAFETY: a test has one cache at a time, and looks at no page that it has given back.
    unsafe { cache.unpin(pinned, locks) }
}

/// Installs a page that is not there.
pub fn install(
    cache: &dyn PageCache,
    page: PageId,
    frame: NonNull<u8>,
    locks: &mut AnyLockContext,
) -> Pinned {
    // SAFETY: one thread, which knows what is there; nobody looks into these frames.
    unsafe { cache.install(page, frame, locks) }
}

/// For tests that evict in one thread.
// SAFETY: nobody installs at the same time.
pub const UNWATCHED: Unwatched = unsafe { Unwatched::new() };

/// xorshift64 (Marsaglia, 2003).
pub fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A page of 32 words: its number, a count, and a checksum of both in all the others.
pub const WORDS: usize = 32;
pub const PAGE_BYTES: usize = 8 * WORDS;

pub fn checksum(page: u64, count: u64) -> u64 {
    (page + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ count.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// Writes a whole page.
///
/// # Safety
/// `frame` has `PAGE_BYTES` bytes, and nobody else uses them.
pub unsafe fn fill(frame: NonNull<u8>, page: PageId, count: u64) {
    let words = frame.cast::<u64>();
    // SAFETY: the caller's promise.
    unsafe {
        words.write(u64::from(page));
        words.add(1).write(count);
        for word in 2..WORDS {
            words.add(word).write(checksum(u64::from(page), count));
        }
    }
}

/// The count of a page, which must be whole and have this number.
///
/// # Safety
/// `frame` has `PAGE_BYTES` bytes, and nobody writes them.
pub unsafe fn read(frame: NonNull<u8>, page: PageId) -> u64 {
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts(frame.cast::<u64>().as_ptr(), WORDS) };
    assert_eq!(words[0], u64::from(page), "a page under another's number");
    let sum = checksum(words[0], words[1]);
    assert!(words[2..].iter().all(|word| *word == sum), "page {page} is torn");
    words[1]
}

/// Pages in a map. It refuses to read what was never written.
#[derive(Default)]
pub struct MapBacking {
    pub pages: Mutex<HashMap<PageId, Vec<u8>>>,
}

impl Backing for MapBacking {
    fn read(&self, page: PageId, bytes: &mut [u8]) -> Result<(), CacheError> {
        let pages = self.pages.lock().expect("no panic");
        bytes.copy_from_slice(pages.get(&page).expect("only written pages are read"));
        Ok(())
    }

    fn write(&self, page: PageId, bytes: &[u8]) -> Result<(), CacheError> {
        self.pages.lock().expect("no panic").insert(page, bytes.to_vec());
        Ok(())
    }
}
