//! Rows in memory: each worker carves them from chunks of its own, and reuses what was released.
//!
//! Chunks are arenas of `assay-primitives`, on pages of a chosen kind, and are unmapped with the
//! database only. Sizes are rounded up to multiples of 16 bytes, or of a cache line where that
//! costs at most an eighth; a row of whole lines starts on a line. Freed memory is kept per size by
//! the worker that freed it, so that freeing and reusing touch nothing shared.

use core::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_primitives::pages::memory;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Arena, PageMode, PrimitiveError};

const LINE: usize = 64;
const STEP: usize = 16;
/// The smallest arena there is, so that small databases stay small.
const FIRST_CHUNK_BYTES: usize = 2 << 20;
/// Chunks double up to this size: few mappings for large databases.
const CHUNK_BYTES_MAX: usize = 64 << 20;

/// Memory for rows. Clones share it.
#[derive(Clone)]
pub struct MemoryRows {
    pool: Arc<Pool>,
}

struct Pool {
    mode: PageMode,
    bytes_max: usize,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    arenas: Vec<Arena>,
    bytes: usize,
    /// What workers that have ended left.
    parked: Vec<Parts>,
}

/// What an allocator owns.
#[derive(Default)]
struct Parts {
    /// The unused rest of the current chunk, as addresses.
    cursor: usize,
    end: usize,
    next_chunk_bytes: usize,
    /// Free rows, by size in steps.
    free: Vec<Vec<u64>>,
}

impl MemoryRows {
    /// Memory on pages of one kind, without a limit. Nothing is mapped before it is needed.
    pub fn new(mode: PageMode) -> Self {
        Self::limited(mode, usize::MAX)
    }

    /// As `new`, with at most this many bytes mapped, in chunks of at least 2 MiB per worker.
    pub fn limited(mode: PageMode, bytes_max: usize) -> Self {
        let state = Mutex::new(PoolState::default());
        Self { pool: Arc::new(Pool { mode, bytes_max, state }) }
    }

    /// The kind of pages asked for.
    pub fn mode(&self) -> PageMode {
        self.pool.mode
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> usize {
        self.pool.state().bytes
    }

    /// Bytes of the mappings that the kernel has backed by huge pages now.
    ///
    /// # Errors
    /// When the kernel's report cannot be read.
    pub fn huge_bytes(&self) -> Result<u64, PrimitiveError> {
        let state = self.pool.state();
        state
            .arenas
            .iter()
            .map(|arena| {
                arena.obtained().map(|got| got.anon_huge_bytes + got.private_hugetlb_bytes)
            })
            .sum()
    }

    /// Maps and touches memory beforehand, in as many pieces as there will be allocators at once,
    /// so that neither happens while transactions run.
    ///
    /// # Errors
    /// When the host does not give it on the pages asked for.
    pub fn reserve(&self, bytes: usize, pieces: usize) -> Result<(), PrimitiveError> {
        if matches!(self.mode(), PageMode::Small | PageMode::Transparent | PageMode::Collapse) {
            memory::require(bytes)?;
        }
        for _ in 0..pieces {
            let arena = Arena::new((bytes / pieces).max(FIRST_CHUNK_BYTES), self.mode())?;
            let whole = arena.bytes();
            let Some(start) = arena.carve(whole, LINE) else { continue };
            let cursor = start.as_ptr().expose_provenance();
            let mut state = self.pool.state();
            state.bytes += whole;
            state.arenas.push(arena);
            let end = cursor + whole;
            state.parked.push(Parts { cursor, end, ..Parts::default() });
        }
        Ok(())
    }

    /// What the kernel gave for all mappings together.
    ///
    /// # Errors
    /// When the kernel's report cannot be read.
    pub fn obtained(&self) -> Result<Mapped, PrimitiveError> {
        let mut mapped = Mapped::default();
        for arena in &self.pool.state().arenas {
            mapped.add(&arena.obtained()?);
        }
        Ok(mapped)
    }

    /// One thread's allocator. It takes over memory when it is first asked for some: many are never
    /// asked.
    pub fn allocator(&self) -> Allocator {
        Allocator { pool: Arc::clone(&self.pool), parts: Parts::default() }
    }
}

impl Pool {
    /// The state is whole whenever the lock is free, also after a panic of a holder.
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new chunk's first and last address; `None` when the limit or the host forbids it.
    fn chunk(&self, bytes: usize) -> Option<(usize, usize)> {
        let mut state = self.state();
        if state.bytes.checked_add(bytes)? > self.bytes_max {
            return None;
        }
        let arena = Arena::new(bytes, self.mode).ok()?;
        let bytes = arena.bytes();
        let start = arena.carve(bytes, LINE)?.as_ptr().expose_provenance();
        state.bytes += bytes;
        state.arenas.push(arena);
        Some((start, start + bytes))
    }
}

/// One thread's way to memory. What it has left goes to the next one.
pub struct Allocator {
    pool: Arc<Pool>,
    parts: Parts,
}

impl Drop for Allocator {
    fn drop(&mut self) {
        let parts = core::mem::take(&mut self.parts);
        if parts.cursor != 0 || !parts.free.is_empty() {
            self.pool.state().parked.push(parts);
        }
    }
}

/// The bytes that a row of this size takes.
fn rounded(bytes: usize) -> usize {
    let lines = bytes.next_multiple_of(LINE);
    if lines - bytes <= lines / 8 { lines } else { bytes.next_multiple_of(STEP) }
}

impl Allocator {
    /// Memory for a row, aligned to eight, of unspecified content.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> Option<NonNull<u64>> {
        let bytes = rounded(bytes);
        let reused = self.parts.free.get_mut(bytes / STEP).and_then(Vec::pop);
        let address = match reused {
            Some(address) => address as usize,
            None if self.parts.cursor == 0 && self.take_over() => return self.allocate(bytes),
            None => self.carve(bytes)?,
        };
        NonNull::new(core::ptr::with_exposed_provenance_mut(address))
    }

    /// Takes what was mapped beforehand, or what another has left; false if there is nothing.
    #[cold]
    fn take_over(&mut self) -> bool {
        let Some(mut parked) = self.pool.state().parked.pop() else { return false };
        parked.free.resize_with(parked.free.len().max(self.parts.free.len()), Vec::new);
        for (class, own) in self.parts.free.drain(..).enumerate() {
            parked.free[class].extend(own);
        }
        self.parts = parked;
        true
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// `allocate` of the same memory gave this address for as many bytes; it is given back once, and
    /// nobody accesses it any more.
    #[inline]
    pub unsafe fn release(&mut self, address: u64, bytes: usize) {
        let class = rounded(bytes) / STEP;
        if self.parts.free.len() <= class {
            self.parts.free.resize_with(class + 1, Vec::new);
        }
        self.parts.free[class].push(address);
    }

    fn carve(&mut self, bytes: usize) -> Option<usize> {
        let parts = &mut self.parts;
        let alignment = if bytes.is_multiple_of(LINE) { LINE } else { STEP };
        let fits = |cursor: usize, end: usize| {
            let start = cursor.next_multiple_of(alignment);
            (cursor != 0 && start + bytes <= end).then_some(start)
        };
        if let Some(start) = fits(parts.cursor, parts.end) {
            parts.cursor = start + bytes;
            return Some(start);
        }
        let chunk = parts.next_chunk_bytes.max(FIRST_CHUNK_BYTES).max(bytes);
        (parts.cursor, parts.end) = self.pool.chunk(chunk)?;
        parts.next_chunk_bytes = (chunk * 2).min(CHUNK_BYTES_MAX);
        let start = fits(parts.cursor, parts.end)?;
        parts.cursor = start + bytes;
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_lines_where_that_is_cheap() {
        let sizes = [16, 24, 64, 120, 336, 688].map(rounded);
        assert_eq!(sizes, [16, 32, 64, 128, 384, 704]);
    }

    #[test]
    fn released_memory_is_used_again_also_by_the_next_worker() {
        let memory = MemoryRows::new(PageMode::Small);
        let mut first = memory.allocator();
        let one = first.allocate(120).unwrap();
        let two = first.allocate(120).unwrap();
        assert_eq!(one.as_ptr().addr() % 64, 0);
        assert_eq!(two.as_ptr().addr() - one.as_ptr().addr(), 128);
        // SAFETY: nobody accesses it.
        unsafe { first.release(one.as_ptr().addr() as u64, 120) };
        drop(first);
        let mut second = memory.allocator();
        assert_eq!(second.allocate(128), Some(one));
        assert_eq!(second.allocate(128).unwrap().as_ptr().addr() - two.as_ptr().addr(), 128);
        assert_eq!(memory.bytes(), FIRST_CHUNK_BYTES);
    }

    #[test]
    fn a_limit_is_kept() {
        let memory = MemoryRows::limited(PageMode::Small, 2 << 20);
        let mut allocator = memory.allocator();
        let rows = (0..).take_while(|_| allocator.allocate(1 << 10).is_some()).count();
        assert_eq!(rows, 2048);
    }
}
