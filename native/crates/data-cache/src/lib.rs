//! Data caches: from a page's number to the frame of memory that holds it, for many threads.
//!
//! | kind | type | a look-up | a release | evicts |
//! |---|---|---|---|---|
//! | one-lock | [`OneLock`] | lock, hash table, move to the front of the LRU list, pin | lock, unpin | least recently used |
//! | partitioned | [`Partitioned`] | the same in one of N | the same | the same, partition by partition |
//! | hyper-clock | [`HyperClock`] | one atomic addition, then the key is verified | one atomic addition | CLOCK |
//! | optimistic | [`Optimistic`] | reads only | nothing | never: every page stays |
//!
//! What a kind does to remember a use and to keep a used page in its frame is the whole difference.
//! A [`Pinned`] page stays where it is until it is released; only unpinned pages are evicted.
//!
//! [`Pool`] puts frames and a [`Backing`] store around a cache: more pages than frames, a miss
//! reads the page in, a victim that was changed is written out. [`PagedRows`] puts rows of fixed
//! size into pages, several named caches side by side, all pages resident.
//!
//! Each kind's look-up is a function of its own, never inlined, reached through
//! [`DataCache::look_up_function`]: its address in a result is the code that ran, and a
//! disassembly of it tells the kinds apart.
//!
//! Sources: RocksDB, cache/clock_cache.h (HyperClockCache) for the hyper-clock; Corbato, "A Paging
//! Experiment with the Multics System" (1968) for CLOCK. SAP ASE calls its own without locks the
//! lockless data cache, and several caches for several kinds of object named caches.
//!
//! Not here: prefetch, scan resistance, dirty-page writers, checksums, variable-length rows.

pub mod backing;
pub mod error;
pub mod hyper_clock;
pub mod kind;
mod lru;
pub mod one_lock;
pub mod optimistic;
pub mod partitioned;
mod pinned;
pub mod pool;
pub mod rows;

use core::ptr::NonNull;

use assay_primitives::{Arena, LockContext, RawLock};

pub use backing::{Backing, FileBacking};
pub use error::CacheError;
pub use hyper_clock::HyperClock;
pub use kind::{CacheLock, DataCacheKind, PageCache, build};
pub use one_lock::OneLock;
pub use optimistic::Optimistic;
pub use partitioned::Partitioned;
pub use pinned::Pinned;
pub use pool::{Pool, PoolCaller, PoolCounts, PoolShape};
pub use rows::{PagedRows, PinSet, TableShape};

/// A page's number, below [`PAGE_LIMIT`].
pub type PageId = u32;

/// No page has this number or a higher one.
pub const PAGE_LIMIT: PageId = u32::MAX;

/// A page that was taken out of a cache: nobody finds it any more, and its frame is the caller's.
#[derive(Debug, PartialEq, Eq)]
pub struct Victim {
    /// The page that was there.
    pub page: PageId,
    /// The memory that still holds its content.
    pub frame: NonNull<u8>,
}

/// Finds a page and pins it; `None` if the cache does not have it.
pub type LookUp<L, D> = fn(&D, PageId, &mut LockContext<L>) -> Option<Pinned>;

/// Sizes of a data cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many pages there will ever be.
    pub pages: usize,
    /// How many of them are in the cache at once, at most.
    pub frames: usize,
    /// Partitions, where the kind has them: a power of two.
    pub partitions: usize,
    /// Stride between neighbouring locks, in bytes; 0 puts them side by side.
    pub padding: usize,
}

impl Shape {
    /// The shape of a cache that holds every page.
    pub fn resident(pages: usize, partitions: usize, padding: usize) -> Self {
        Self { pages, frames: pages, partitions, padding }
    }
}

/// Who keeps account of pages on their way between a frame and the backing store. A page is moved
/// by one thread at a time, and a page that moves is not evicted.
///
/// # Safety
/// After `begin` has said true it says false about that page until `end`; or else no two threads ever
/// evict and install the same page at once.
pub unsafe trait Moves {
    /// Declares that the caller moves a page; false if somebody does already. Never waits: it is
    /// called with locks held.
    fn begin(&self, page: PageId) -> bool;

    /// Declares that the page has arrived, or that it was not moved after all.
    fn end(&self, page: PageId);
}

/// For callers whose threads never evict and install the same page at once.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched(());

impl Unwatched {
    /// # Safety
    /// No two threads ever evict and install the same page of a cache that is given this value.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

// SAFETY: who made the value has promised it.
unsafe impl Moves for Unwatched {
    fn begin(&self, _: PageId) -> bool {
        true
    }

    fn end(&self, _: PageId) {}
}

/// A cache of pages that many threads use at once. `locks` is the calling thread's own; kinds without
/// locks do not use it.
///
/// # Safety
/// A look-up gives the frame that its page was installed with last. While a page is pinned, it is not
/// evicted. A victim is given once.
pub unsafe trait DataCache<L: RawLock>: Sized + Send + Sync {
    /// The memory that the cache takes from the arena.
    fn arena_bytes(shape: Shape) -> usize;

    /// An empty cache, or why this kind cannot have this shape.
    fn new(arena: &Arena, shape: Shape) -> Result<Self, CacheError>;

    /// The function that finds a page and pins it. It never misses a page that was installed
    /// before (in happens-before order) and not evicted.
    fn look_up_function() -> LookUp<L, Self>;

    /// Puts a page into the cache, pinned.
    ///
    /// # Safety
    /// `frame` is the complete page, as whoever pins pages of this cache expects it, and stays until the
    /// page is evicted. The page is not in the cache, nobody else installs it, and at most
    /// `Shape::frames` pages are there at once.
    unsafe fn install(
        &self,
        page: PageId,
        frame: NonNull<u8>,
        locks: &mut LockContext<L>,
    ) -> Pinned;

    /// Gives a pinned page back.
    ///
    /// # Safety
    /// The pin is of this cache, and nothing uses the frame by right of it any more.
    unsafe fn release(&self, pinned: Pinned, locks: &mut LockContext<L>);

    /// Takes an unpinned page out, by the order of the kind; `None` if all are pinned or moving
    /// (or the kind never evicts). `moves.begin` is called while the victim can still be found,
    /// so that whoever misses it afterwards sees that it moves; the caller calls `moves.end`.
    /// `toward` is the page that needs a frame: a partitioned cache looks beside it first.
    fn evict(
        &self,
        toward: PageId,
        moves: &dyn Moves,
        locks: &mut LockContext<L>,
    ) -> Option<Victim>;

    /// Partitions really made; 0 where there is no lock.
    fn partitions(&self) -> usize;
}

/// Spreads page numbers over 32 bits (Fibonacci hashing: 2^32 divided by the golden ratio).
#[inline(always)]
fn spread(page: PageId) -> u32 {
    page.wrapping_mul(0x9E37_79B1)
}

/// Refuses sizes that no kind can have.
fn check_shape(kind: &'static str, shape: Shape) -> Result<(), CacheError> {
    if shape.frames == 0 || shape.pages >= PAGE_LIMIT as usize {
        let what = format!("{} frames for {} pages", shape.frames, shape.pages);
        let next = format!("give it at least one frame and fewer than {PAGE_LIMIT} pages");
        return Err(CacheError::Shape { kind, what, next });
    }
    Ok(())
}
