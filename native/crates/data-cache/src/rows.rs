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
//! Every [`PinSet::locate`] goes through the cache and holds a pin of its own until
//! [`PinSet::release_all`], also for a page that the set has pinned before: the look-up is what is
//! measured, and a search of the set would replace it.

use core::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use assay_primitives::locks::Waiting;
use assay_primitives::{AnyLockContext, Arena};

use crate::{CacheError, CacheLock, DataCacheKind, PageCache, PageId, Pinned, Shape};
use assay_primitives::sync::{AtomicU64, Ordering};

/// Bytes of a page.
pub const ROW_PAGE_BYTES: usize = 16 << 10;
/// The most caches that a page's number can name.
pub const CACHES_MAX: usize = 1 << CACHE_BITS;

const CACHE_BITS: u32 = 4;
const CACHE_SHIFT: u32 = PageId::BITS - CACHE_BITS;
const SLOTS_OFFSET: usize = 4;
const HEADER_BYTES: usize = 16;
const PAGE_ALIGNMENT: usize = 4096;
/// The most pages that one cache's part of the numbers can name.
const PAGES_MAX: usize = (1 << CACHE_SHIFT) - 1;

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

    /// Empty caches for the tables, in order.
    fn build_all(
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
    /// Where all pages lie.
    _arena: Arena,
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
    /// Lays out all pages of all tables in the arena and installs them in caches of their own, whose
    /// locks are `lock`s, waited for by `waiting`.
    ///
    /// # Errors
    /// When tables do not fit their caches or the arena, and when a kind cannot have its shape.
    pub fn new(
        tables: &[TableShape],
        caches: &[NamedCache],
        lock: CacheLock,
        waiting: Waiting,
        arena: &Arena,
    ) -> Result<Self, CacheError> {
        let mut next_pages = [0; CACHES_MAX];
        let mut laid = Vec::with_capacity(tables.len());
        for (number, shape) in tables.iter().enumerate() {
            shape.check(number, caches.len())?;
            let next = &mut next_pages[shape.cache];
            let first = *next;
            *next += shape.pages();
            if *next > PAGES_MAX {
                let what = format!("its cache has room for {PAGES_MAX} pages, not {next}");
                return Err(CacheError::Table { table: number, what });
            }
            let first = (shape.cache as PageId) << CACHE_SHIFT | first as PageId;
            laid.push(Table::new(*shape, first, arena)?);
        }
        let caches = NamedCache::build_all(caches, tables, lock, arena)?;
        for table in &laid {
            table.install(&*caches[table.shape.cache], &mut AnyLockContext::new(waiting));
        }
        Ok(Self { tables: laid, caches, _arena: arena.clone() })
    }

    /// One thread's way to the rows, which waits for its caches' locks by `waiting`.
    pub fn pins(self: &Arc<Self>, waiting: Waiting) -> PinSet {
        let locks = self.caches.iter().map(|_| AnyLockContext::new(waiting)).collect();
        let (pins, looked_up) = (Vec::new(), [0; CACHES_MAX]);
        PinSet { rows: Arc::clone(self), locks, pins, looked_up }
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

    fn install(&self, cache: &dyn PageCache, locks: &mut AnyLockContext) {
        for number in 0..self.shape.pages() {
            let page = self.first + number as PageId;
            let memory = self.page(number);
            // SAFETY: the page is this table's alone until it is installed, once, in a cache that has
            // room for all of its tables; its memory stays.
            unsafe {
                self.format(memory, page);
                let pinned = cache.install(page, memory, locks);
                cache.unpin(pinned, locks);
            }
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

/// One thread's way to the rows: the pins of its transaction, what it met at the caches' locks, and its
/// look-ups.
pub struct PinSet {
    rows: Arc<PagedRows>,
    /// By cache.
    locks: Box<[AnyLockContext]>,
    pins: Vec<Pinned>,
    looked_up: [u64; CACHES_MAX],
}

impl PinSet {
    /// The memory of a row, through its cache, pinned until the set is released; `None` for a
    /// reference that never was one.
    #[inline]
    pub fn locate(&mut self, reference: u64) -> Option<NonNull<u8>> {
        let (page, slot) = ((reference >> 16) as PageId, reference as u16);
        let cache = (page >> CACHE_SHIFT) as usize;
        let pinned = self.rows.caches.get(cache)?.pin(page, self.locks.get_mut(cache)?)?;
        let memory = pinned.frame();
        self.looked_up[cache] += 1;
        self.pins.push(pinned);
        // SAFETY: `PagedRows::new` installed whole pages only, whose headers and directories never
        // change.
        unsafe { row_in(memory, slot) }
    }

    /// Gives all pins back, the last one first.
    pub fn release_all(&mut self) {
        while let Some(pinned) = self.pins.pop() {
            let cache = (pinned.page() >> CACHE_SHIFT) as usize;
            // SAFETY: `locate` got the pin from this cache, and keeps no pointer.
            unsafe { self.rows.caches[cache].unpin(pinned, &mut self.locks[cache]) };
        }
    }

    /// The rows.
    pub fn rows(&self) -> &PagedRows {
        &self.rows
    }

    /// Pins held now.
    pub fn held(&self) -> usize {
        self.pins.len()
    }

    /// What was met at each cache's locks.
    pub fn locks(&self) -> &[AnyLockContext] {
        &self.locks
    }

    /// Look-ups in each cache since the set was made; the rest of the array is zero.
    pub fn look_ups(&self) -> &[u64; CACHES_MAX] {
        &self.looked_up
    }
}
