//! Rows of fixed size in slotted pages, several tables, several named caches side by side.
//!
//! | page bytes | content |
//! |---|---|
//! | 0..4 | the page's number |
//! | 4..6 | slots in the page |
//! | 6..16 | room for a log sequence number |
//! | 16.. | directory: the offset of each slot's row in units of eight bytes, two bytes each |
//! | then | rows, each aligned to eight |
//!
//! A row reference is `page << 16 | slot`, and the top four bits of a page's number name its
//! cache, so that finding a row asks nothing but the page itself.
//!
//! **All pages are resident**, and each cache has room for all of its tables' pages. Rows begin
//! with the header of concurrency control, whose locks, versions and pointers are alive while
//! nobody has the page pinned: a transaction holds row locks between two operations, and versions
//! point at rows. Such a page cannot be written out and read back elsewhere. A look-up costs what
//! it costs in a cache that evicts, and nothing is ever missed.
//!
//! Every `locate` goes through the cache and holds a pin of its own until
//! [`PinSet::release_all`], also for a page that the set has pinned before: the look-up is what is
//! measured, and a search of the set would replace it.

use core::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use assay_primitives::{Arena, Waiter};

use crate::sync::{AtomicU64, Ordering};
use crate::{CacheError, CacheLock, DataCacheKind, PageCache, PageId, Pinned, Shape};

/// Bytes of a page.
pub const ROW_PAGE_BYTES: usize = 16 << 10;
/// The most caches that a page's number can name.
pub const CACHES_MAX: usize = 1 << CACHE_BITS;

const CACHE_BITS: u32 = 4;
const CACHE_SHIFT: u32 = PageId::BITS - CACHE_BITS;
const SLOTS_OFFSET: usize = 4;
const HEADER_BYTES: usize = 16;
const PAGE_ALIGNMENT: usize = 4096;

/// A table of rows of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Bytes of a row, concurrency control's header included.
    pub row_bytes: usize,
    /// How many rows there may be at once.
    pub capacity: usize,
    /// Its cache's place among the caches.
    pub cache: usize,
}

impl TableShape {
    fn row_stride(&self) -> usize {
        self.row_bytes.max(8).next_multiple_of(8)
    }

    /// Rows that fit a page: each takes two bytes of the directory, whose end is padded to eight.
    fn rows_per_page(&self) -> usize {
        (ROW_PAGE_BYTES - HEADER_BYTES - 8) / (self.row_stride() + 2)
    }

    fn pages(&self) -> usize {
        self.capacity.div_ceil(self.rows_per_page().max(1))
    }

    fn check(&self, table: usize, caches: usize) -> Result<(), CacheError> {
        let refuse = |what| Err(CacheError::Table { table, what });
        if self.rows_per_page() == 0 {
            return refuse(format!(
                "a row of {} bytes does not fit a page of {ROW_PAGE_BYTES}",
                self.row_bytes
            ));
        }
        if self.cache >= caches.min(CACHES_MAX) {
            return refuse(format!("cache {} is not one of the {caches}", self.cache));
        }
        Ok(())
    }
}

/// A named cache: what it is called, its kind, and its sizes beyond the number of pages.
#[derive(Clone, Copy, Debug)]
pub struct NamedCache {
    /// What results call it, such as `default` or `system`.
    pub name: &'static str,
    /// How it finds pages.
    pub kind: DataCacheKind,
    /// Partitions, where the kind has them.
    pub partitions: usize,
    /// Stride between neighbouring locks, in bytes.
    pub padding: usize,
}

/// The pages that all tables of a cache need together: the size to build it with.
pub fn pages_of(tables: &[TableShape], cache: usize) -> usize {
    tables.iter().filter(|table| table.cache == cache).map(TableShape::pages).sum()
}

/// The memory that the pages of all tables take from an arena, their caches not included.
pub fn arena_bytes(tables: &[TableShape]) -> usize {
    tables.iter().map(TableShape::pages).sum::<usize>() * ROW_PAGE_BYTES + PAGE_ALIGNMENT
}

/// The memory that pages and caches take from an arena together.
pub fn arena_bytes_with(tables: &[TableShape], caches: &[NamedCache], lock: CacheLock) -> usize {
    let of_caches = caches.iter().enumerate().map(|(place, cache)| {
        crate::kind::arena_bytes(cache.kind, lock, cache.shape(pages_of(tables, place)))
    });
    arena_bytes(tables) + of_caches.sum::<usize>()
}

impl NamedCache {
    fn shape(&self, pages: usize) -> Shape {
        Shape::resident(pages.max(1), self.partitions, self.padding)
    }

    /// Builds the caches for the tables, in order.
    pub fn build_all(
        caches: &[NamedCache],
        tables: &[TableShape],
        lock: CacheLock,
        arena: &Arena,
    ) -> Result<Vec<Box<dyn PageCache>>, CacheError> {
        let build = |(place, cache): (usize, &NamedCache)| {
            crate::build(cache.kind, lock, cache.shape(pages_of(tables, place)), arena)
        };
        caches.iter().enumerate().map(build).collect()
    }
}

/// The pages of some tables and the caches that find them.
pub struct PagedRows {
    tables: Vec<Table>,
    caches: Vec<Box<dyn PageCache>>,
}

struct Table {
    shape: TableShape,
    first: PageId,
    memory: NonNull<u8>,
    rows_used: AtomicU64,
    freed: Mutex<Vec<u64>>,
    freed_count: AtomicU64,
}

// SAFETY: the memory is the arena's; headers and directories are written before the tables are
// shared, and rows belong to who allocated or locked them.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl PagedRows {
    /// Lays out all pages of all tables in the arena and installs them in their caches, each of
    /// which was built for (at least) `pages_of` its tables. `waiters` has one waiter per cache,
    /// for locks of its kind. The arena outlives the rows.
    pub fn new(
        tables: &[TableShape],
        caches: Vec<Box<dyn PageCache>>,
        arena: &Arena,
        waiters: &mut [Waiter],
    ) -> Result<Self, CacheError> {
        let mut next_pages = [0; CACHES_MAX];
        let mut laid = Vec::with_capacity(tables.len());
        for (number, shape) in tables.iter().enumerate() {
            shape.check(number, caches.len())?;
            let next = &mut next_pages[shape.cache];
            let first = *next;
            *next += shape.pages();
            let room = caches[shape.cache].shape().pages.min((1 << CACHE_SHIFT) - 1);
            if *next > room {
                let what = format!("its cache has room for {room} pages, not {next}");
                return Err(CacheError::Table { table: number, what });
            }
            let first = (shape.cache as PageId) << CACHE_SHIFT | first as PageId;
            laid.push(Table::new(*shape, first, arena)?);
        }
        for table in &laid {
            let cache = table.shape.cache;
            table.install(&*caches[cache], &mut waiters[cache]);
        }
        Ok(Self { tables: laid, caches })
    }

    /// A row that nobody else has: its reference and its memory, which is valid as long as the
    /// arena. A fresh row is all zeros; one that was freed before is as it was left.
    pub fn allocate(&self, table: usize) -> Result<(u64, NonNull<u8>), CacheError> {
        self.tables[table].allocate(table)
    }

    /// Gives a row back for another `allocate`. The reference came from `allocate`, was not freed
    /// since, and nobody can reach the row any more; only a reference that never was one is found
    /// out.
    pub fn free(&self, reference: u64) -> Result<(), CacheError> {
        let page = (reference >> 16) as PageId;
        let table = self.tables.iter().find(|table| table.has(reference));
        let table = table.ok_or(CacheError::Unknown { page })?;
        let mut freed = table.freed.lock().unwrap_or_else(PoisonError::into_inner);
        freed.push(reference);
        table.freed_count.store(freed.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// The memory of a row, through its cache, pinned until the set is released; `None` for a
    /// reference that never was one. `waiters` has one waiter per cache.
    #[inline]
    pub fn locate(
        &self,
        reference: u64,
        pins: &mut PinSet,
        waiters: &mut [Waiter],
    ) -> Option<NonNull<u8>> {
        let (page, slot) = ((reference >> 16) as PageId, reference as u16);
        let cache = (page >> CACHE_SHIFT) as usize;
        let pinned = self.caches.get(cache)?.pin(page, waiters.get_mut(cache)?)?;
        let memory = pinned.frame();
        pins.looked_up[cache] += 1;
        pins.pins.push(pinned);
        // SAFETY: the page is a whole one of a table, whose header and directory never change.
        unsafe { row_in(memory, slot) }
    }

    /// The caches, in the order of their places, for witnesses and manifests.
    pub fn caches(&self) -> &[Box<dyn PageCache>] {
        &self.caches
    }
}

impl Table {
    fn new(shape: TableShape, first: PageId, arena: &Arena) -> Result<Self, CacheError> {
        let memory = arena.carve(shape.pages() * ROW_PAGE_BYTES, PAGE_ALIGNMENT);
        Ok(Self {
            shape,
            first,
            memory: memory.ok_or(CacheError::ArenaFull("the rows' pages"))?,
            rows_used: AtomicU64::new(0),
            freed: Mutex::new(Vec::new()),
            freed_count: AtomicU64::new(0),
        })
    }

    fn install(&self, cache: &dyn PageCache, waiter: &mut Waiter) {
        for number in 0..self.shape.pages() {
            let page = self.first + number as PageId;
            let memory = self.page(number);
            // SAFETY: the page is this table's alone until it is installed.
            unsafe { self.format(memory, page) };
            let pinned = cache.install(page, memory, waiter);
            cache.unpin(pinned, waiter);
        }
    }

    fn page(&self, number: usize) -> NonNull<u8> {
        debug_assert!(number < self.shape.pages());
        // SAFETY: the table carved that many pages.
        unsafe { self.memory.add(number * ROW_PAGE_BYTES) }
    }

    fn has(&self, reference: u64) -> bool {
        let pages = u64::from(self.first)..u64::from(self.first) + self.shape.pages() as u64;
        let slot = usize::from(reference as u16);
        pages.contains(&(reference >> 16)) && slot < self.shape.rows_per_page()
    }

    /// # Safety
    /// The page is a whole one, and nobody else uses it.
    unsafe fn format(&self, memory: NonNull<u8>, page: PageId) {
        let slots = self.shape.rows_per_page();
        let rows = HEADER_BYTES + (2 * slots).next_multiple_of(8);
        // SAFETY: header and directory lie inside the page (`rows_per_page`).
        unsafe {
            memory.cast::<PageId>().write(page);
            memory.add(SLOTS_OFFSET).cast::<u16>().write(slots as u16);
            let directory = memory.add(HEADER_BYTES).cast::<u16>();
            for slot in 0..slots {
                directory.add(slot).write(((rows + slot * self.shape.row_stride()) / 8) as u16);
            }
        }
    }

    fn allocate(&self, table: usize) -> Result<(u64, NonNull<u8>), CacheError> {
        let slots = self.shape.rows_per_page() as u64;
        let reference = match self.reuse() {
            Some(reference) => reference,
            None => {
                let row = self.next_row(table)?;
                ((u64::from(self.first) + row / slots) << 16) | (row % slots)
            }
        };
        let page = self.page(((reference >> 16) as PageId - self.first) as usize);
        // SAFETY: the page was formatted when the table was made.
        let row = unsafe { row_in(page, reference as u16) };
        row.map(|row| (reference, row)).ok_or(CacheError::Unknown { page: self.first })
    }

    fn reuse(&self) -> Option<u64> {
        if self.freed_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut freed = self.freed.lock().unwrap_or_else(PoisonError::into_inner);
        let reference = freed.pop();
        self.freed_count.store(freed.len() as u64, Ordering::Relaxed);
        reference
    }

    fn next_row(&self, table: usize) -> Result<u64, CacheError> {
        let capacity = self.shape.capacity as u64;
        let next = |used: u64| (used < capacity).then_some(used + 1);
        let relaxed = Ordering::Relaxed;
        self.rows_used.fetch_update(relaxed, relaxed, next).map_err(|_| CacheError::Table {
            table,
            what: format!("all {capacity} rows are in use"),
        })
    }
}

/// The row in a slot; `None` if the page has no such slot.
///
/// # Safety
/// `memory` is a formatted page, and stays.
#[inline(always)]
unsafe fn row_in(memory: NonNull<u8>, slot: u16) -> Option<NonNull<u8>> {
    // SAFETY: the header holds the number of directory entries, each an offset into the page.
    unsafe {
        if slot >= memory.add(SLOTS_OFFSET).cast::<u16>().read() {
            return None;
        }
        let offset = memory.add(HEADER_BYTES).cast::<u16>().add(usize::from(slot)).read();
        Some(memory.add(usize::from(offset) * 8))
    }
}

/// The pins of one transaction and the look-ups of its thread.
#[derive(Debug, Default)]
pub struct PinSet {
    pins: Vec<Pinned>,
    looked_up: [u64; CACHES_MAX],
}

impl PinSet {
    /// A set without pins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives all pins back, the last one first. `waiters` has one waiter per cache.
    pub fn release_all(&mut self, rows: &PagedRows, waiters: &mut [Waiter]) {
        while let Some(pinned) = self.pins.pop() {
            let cache = (pinned.page() >> CACHE_SHIFT) as usize;
            rows.caches[cache].unpin(pinned, &mut waiters[cache]);
        }
    }

    /// Pins held now.
    pub fn held(&self) -> usize {
        self.pins.len()
    }

    /// Look-ups in each cache since the set was made; the rest of the array is zero.
    pub fn look_ups(&self) -> &[u64; CACHES_MAX] {
        &self.looked_up
    }
}
