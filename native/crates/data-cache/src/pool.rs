//! Frames, a data cache and a backing store: more pages than memory.
//!
//! A look-up that misses reads its page in: it takes a frame that was never used, or that of a
//! victim, which is written out first if it was changed. One thread moves a page at a time; each
//! page has a byte that says so:
//!
//! | byte | meaning |
//! |---|---|
//! | 0 | nobody has created the page |
//! | 1 | at rest: in a frame, or in the backing store |
//! | 2 | one thread moves it; others that want it wait, and look it up again |
//!
//! A victim is marked before it disappears from the cache and until it is written, so that nobody
//! reads an old version of it; whoever reads a page in marks it before looking it up once more, so
//! that a page is never in two frames.

use core::ptr::NonNull;
use std::sync::Mutex;

use assay_primitives::locks::ElisionCounts;
use assay_primitives::{Address, Arena, Called, Contention, LockContext, RawLock};

use crate::{Backing, CacheError, DataCache, LookUp, Moves, PageId, Pinned, Shape, Victim};
use assay_primitives::sync::{AtomicU8, AtomicU64, Ordering, yield_now};

/// Frames start on a page of the CPU.
const FRAME_ALIGNMENT: usize = 4096;
/// Searches for a victim before a pool is believed to have all its frames pinned: others may hold
/// some for a moment only.
const SEARCHES_MAX: u32 = 1000;

/// Sizes of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolShape {
    /// The sizes of its cache; `frames` is the memory there is.
    pub cache: Shape,
    /// Bytes of a page.
    pub page_bytes: usize,
}

/// What one thread has met at a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Look-ups that found their page in the cache.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
    /// Pages taken out to make room.
    pub evictions: u64,
    /// Evicted pages that had to be written to the backing store.
    pub write_backs: u64,
}

impl PoolCounts {
    /// What was added since an earlier reading of the same counters.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            hits: self.hits - earlier.hits,
            misses: self.misses - earlier.misses,
            evictions: self.evictions - earlier.evictions,
            write_backs: self.write_backs - earlier.write_backs,
        }
    }

    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.evictions += other.evictions;
        self.write_backs += other.write_backs;
    }

    /// Hits and misses.
    pub fn look_ups(&self) -> u64 {
        self.hits + self.misses
    }
}

/// One thread's door to a pool: how it waits for locks, and what it met.
#[derive(Debug)]
pub struct PoolCaller<L> {
    locks: LockContext<L>,
    counts: PoolCounts,
}

impl<L: RawLock> PoolCaller<L> {
    /// A caller that has met nothing yet.
    pub fn new(locks: LockContext<L>) -> Self {
        Self { locks, counts: PoolCounts::default() }
    }

    /// What it has met at the pool.
    pub fn counts(&self) -> PoolCounts {
        self.counts
    }

    /// Elisions at the cache's locks.
    pub fn elision(&self) -> ElisionCounts {
        self.locks.elision()
    }

    /// What it has met at the cache's locks.
    pub fn contention(&self) -> Contention {
        self.locks.counts()
    }
}

/// The bytes of all pages; see the module.
struct Movements(Box<[AtomicU8]>);

const UNKNOWN: u8 = 0;
const AT_REST: u8 = 1;
const MOVING: u8 = 2;

impl Movements {
    fn change(&self, page: PageId, from: u8) -> Result<(), u8> {
        let state = self.0.get(page as usize).ok_or(UNKNOWN)?;
        state.compare_exchange(from, MOVING, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }
}

// SAFETY: one compare-and-swap begins a move, and only `end` makes another possible.
unsafe impl Moves for Movements {
    fn begin(&self, page: PageId) -> bool {
        self.change(page, AT_REST).is_ok()
    }

    fn end(&self, page: PageId) {
        self.0[page as usize].store(AT_REST, Ordering::Release);
    }
}

/// Pages of one size, in frames of an arena and a backing store.
pub struct Pool<L, D> {
    cache: D,
    look_up: Called<LookUp<L, D>>,
    movements: Movements,
    changed: Box<[AtomicU8]>,
    frames: NonNull<u8>,
    /// What `frames` points into.
    _arena: Arena,
    frame_count: usize,
    frames_used: AtomicU64,
    /// Frames whose page could not be read.
    spare: Mutex<Vec<SpareFrame>>,
    page_bytes: usize,
    backing: Option<Box<dyn Backing>>,
}

struct SpareFrame(NonNull<u8>);

// SAFETY: the frame belongs to nobody while it is spare.
unsafe impl Send for SpareFrame {}

// SAFETY: a frame is written by who moves its page, or under a pin by the rules of its content.
unsafe impl<L: RawLock, D: DataCache<L>> Send for Pool<L, D> {}
// SAFETY: as above.
unsafe impl<L: RawLock, D: DataCache<L>> Sync for Pool<L, D> {}

impl<L: RawLock, D: DataCache<L>> Pool<L, D> {
    /// The memory that a pool takes from the arena.
    pub fn arena_bytes(shape: PoolShape) -> usize {
        shape.cache.frames * shape.page_bytes + FRAME_ALIGNMENT + D::arena_bytes(shape.cache)
    }

    /// An empty pool in an arena. Without a backing store there is a frame for every page.
    pub fn new(
        arena: &Arena,
        shape: PoolShape,
        backing: Option<Box<dyn Backing>>,
    ) -> Result<Self, CacheError> {
        let Shape { pages, frames: frame_count, .. } = shape.cache;
        let cache = D::new(arena, shape.cache)?;
        if backing.is_none() && frame_count < pages {
            return Err(no_backing(frame_count, pages));
        }
        let bytes = frame_count * shape.page_bytes;
        let frames = arena.carve(bytes, FRAME_ALIGNMENT);
        let zeros = |count| (0..count).map(|_| AtomicU8::new(0)).collect();
        Ok(Self {
            cache,
            // Opaque to the optimiser: callers must call this pointer, not a copy they inlined.
            look_up: Called::new(D::look_up_function()),
            movements: Movements(zeros(pages)),
            changed: zeros(pages),
            frames: frames.ok_or(CacheError::ArenaFull("the frames"))?,
            _arena: arena.clone(),
            frame_count,
            frames_used: AtomicU64::new(0),
            spare: Mutex::new(Vec::new()),
            page_bytes: shape.page_bytes,
            backing,
        })
    }

    /// The page, pinned, from the cache or from the backing store.
    #[inline(always)]
    pub fn pin(&self, page: PageId, caller: &mut PoolCaller<L>) -> Result<Pinned, CacheError> {
        if let Some(pinned) = (self.look_up.function())(&self.cache, page, &mut caller.locks) {
            caller.counts.hits += 1;
            return Ok(pinned);
        }
        self.fault(page, caller)
    }

    /// Gives a pinned page back.
    ///
    /// # Safety
    /// The pin is of this pool, and nothing uses the frame by right of it any more.
    #[inline(always)]
    pub unsafe fn unpin(&self, pinned: Pinned, caller: &mut PoolCaller<L>) {
        // SAFETY: the caller's promise; all pins of a pool are of its cache.
        unsafe { self.cache.release(pinned, &mut caller.locks) };
    }

    /// Declares that a pinned page was or will be written to before it is unpinned.
    #[inline(always)]
    pub fn mark_changed(&self, pinned: &Pinned) {
        let changed = &self.changed[pinned.page() as usize];
        if changed.load(Ordering::Relaxed) == 0 {
            changed.store(1, Ordering::Relaxed);
        }
    }

    /// A new page of zeros, pinned and counted as changed.
    pub fn create(&self, page: PageId, caller: &mut PoolCaller<L>) -> Result<Pinned, CacheError> {
        self.movements.change(page, UNKNOWN).map_err(|_| {
            let is_known = (page as usize) < self.changed.len();
            if is_known { CacheError::Exists { page } } else { CacheError::Unknown { page } }
        })?;
        let frame = match self.frame(page, caller) {
            Ok(frame) => frame,
            Err(error) => {
                self.movements.0[page as usize].store(UNKNOWN, Ordering::Release);
                return Err(error);
            }
        };
        // SAFETY: the frame is a whole one, and this thread's until the page is installed; the page is
        // in no frame yet, and moves by this thread's hand only.
        let pinned = unsafe {
            frame.write_bytes(0, self.page_bytes);
            self.cache.install(page, frame, &mut caller.locks)
        };
        self.mark_changed(&pinned);
        self.movements.end(page);
        Ok(pinned)
    }

    /// The run-time address of the look-up that `pin` calls.
    pub fn look_up_address(&self) -> Address {
        self.look_up.address()
    }

    /// Partitions of the cache; 0 where there is no lock.
    pub fn partitions(&self) -> usize {
        self.cache.partitions()
    }

    /// Pages that are in memory at once, at most.
    pub fn frames(&self) -> usize {
        self.frame_count
    }

    #[cold]
    #[inline(never)]
    fn fault(&self, page: PageId, caller: &mut PoolCaller<L>) -> Result<Pinned, CacheError> {
        caller.counts.misses += 1;
        let look_up = |caller: &mut PoolCaller<L>| {
            (self.look_up.function())(&self.cache, page, &mut caller.locks)
        };
        while let Err(state) = self.movements.change(page, AT_REST) {
            if state == UNKNOWN {
                return Err(CacheError::Unknown { page });
            }
            yield_now();
            if let Some(pinned) = look_up(caller) {
                return Ok(pinned);
            }
        }
        let pinned = match look_up(caller) {
            Some(pinned) => Ok(pinned),
            None => self.read_in(page, caller),
        };
        self.movements.end(page);
        pinned
    }

    /// Reads in a page that the calling thread has marked as moving.
    fn read_in(&self, page: PageId, caller: &mut PoolCaller<L>) -> Result<Pinned, CacheError> {
        let Some(backing) = &self.backing else { return Err(CacheError::Unknown { page }) };
        let frame = self.frame(page, caller)?;
        // SAFETY: the frame is a whole one, and this thread's until the page is installed.
        let bytes = unsafe { core::slice::from_raw_parts_mut(frame.as_ptr(), self.page_bytes) };
        if let Err(error) = backing.read(page, bytes) {
            self.lock_spare().push(SpareFrame(frame));
            return Err(error);
        }
        // SAFETY: the page was just read, and is in no other frame: a look-up has missed since this
        // thread marked it as moving.
        Ok(unsafe { self.cache.install(page, frame, &mut caller.locks) })
    }

    /// A frame that belongs to nobody.
    fn frame(&self, page: PageId, caller: &mut PoolCaller<L>) -> Result<NonNull<u8>, CacheError> {
        if self.frames_used.load(Ordering::Relaxed) < self.frame_count as u64 {
            let number = self.frames_used.fetch_add(1, Ordering::Relaxed);
            if number < self.frame_count as u64 {
                // SAFETY: `number` is below the number of frames carved.
                return Ok(unsafe { self.frames.add(number as usize * self.page_bytes) });
            }
        }
        for _ in 0..SEARCHES_MAX {
            let victim = self.cache.evict(page, &self.movements, &mut caller.locks);
            if let Some(victim) = victim {
                return self.empty(victim, caller);
            }
            if let Some(SpareFrame(frame)) = self.lock_spare().pop() {
                return Ok(frame);
            }
            yield_now();
        }
        Err(CacheError::AllPinned { frames: self.frame_count, page })
    }

    /// Writes a victim out if need be; its frame is free then. If that fails, the page goes back
    /// into the cache: the frame holds its only copy.
    fn empty(&self, victim: Victim, caller: &mut PoolCaller<L>) -> Result<NonNull<u8>, CacheError> {
        let Victim { page, frame } = victim;
        let changed = &self.changed[page as usize];
        caller.counts.evictions += 1;
        if changed.load(Ordering::Relaxed) != 0 {
            // SAFETY: the frame is a whole one, and nobody finds its page any more.
            let bytes = unsafe { core::slice::from_raw_parts(frame.as_ptr(), self.page_bytes) };
            let written = self.backing.as_deref().map_or(Ok(()), |to| to.write(page, bytes));
            if let Err(error) = written {
                // SAFETY: the victim goes back where it was, before its move ends.
                unsafe {
                    let pinned = self.cache.install(page, frame, &mut caller.locks);
                    self.cache.release(pinned, &mut caller.locks);
                }
                self.movements.end(page);
                return Err(error);
            }
            changed.store(0, Ordering::Relaxed);
            caller.counts.write_backs += 1;
        }
        self.movements.end(page);
        Ok(frame)
    }

    fn lock_spare(&self) -> std::sync::MutexGuard<'_, Vec<SpareFrame>> {
        // A panic while it is held cannot leave the list half changed.
        self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn no_backing(frames: usize, pages: usize) -> CacheError {
    CacheError::Shape {
        kind: "pool",
        what: format!("{frames} frames for {pages} pages and no backing store"),
        next: "give it a frame for every page, or a backing store".to_owned(),
    }
}
