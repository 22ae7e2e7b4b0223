//! The row store of the transactional engine: pages behind named caches, and memory beside them.
//!
//! Data tables lie in pages of the cache `default` or in memory; system tables always lie in pages
//! of the cache `system`. A reference with the top bit set names a row in pages, any other is an
//! address.

use core::ptr::NonNull;
use std::sync::Arc;

use assay_data_cache::{PagedRows, PinSet};
use assay_primitives::locks::{ElisionCounts, Waiting};
use assay_primitives::{Arena, Contention};
use assay_transactions::{Allocator, MemoryRows, RowStore, RowStoreError, StoredRows};
use assay_workload::tables::TableId;

/// The caches, in the order of their places.
pub const CACHES: [&str; 2] = ["default", "system"];

const IN_PAGES: u64 = 1 << 63;

/// Where the rows of one table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory.
    Memory,
    /// In pages: its number among the tables in pages.
    Pages(usize),
}

/// See the module.
pub struct NamedCaches {
    places: Arc<[Place]>,
    rows: Arc<PagedRows>,
    memory: MemoryRows,
    waiting: Waiting,
    arena: Arena,
}

/// One worker's way to the rows.
pub struct NamedRows {
    places: Arc<[Place]>,
    pins: PinSet,
    memory: Allocator,
}

/// What a worker met at the caches, and how often it looked.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheCounts {
    /// By cache.
    pub contention: [Contention; CACHES.len()],
    /// By cache.
    pub elision: [ElisionCounts; CACHES.len()],
    /// By cache.
    pub look_ups: [u64; CACHES.len()],
}

impl NamedCaches {
    /// Rows in these places. `waiting` is for the caches' locks, and `arena` has the pages.
    pub fn new(
        places: Vec<Place>,
        rows: PagedRows,
        memory: &MemoryRows,
        waiting: Waiting,
        arena: Arena,
    ) -> Self {
        let (places, rows) = (places.into(), Arc::new(rows));
        Self { places, rows, memory: memory.clone(), waiting, arena }
    }

    /// The pages, for witnesses and manifests.
    pub fn rows(&self) -> &PagedRows {
        &self.rows
    }

    /// The memory of pages and caches.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }
}

impl NamedRows {
    /// What the worker met so far.
    pub fn counts(&self) -> CacheCounts {
        let mut counts = CacheCounts::default();
        for (place, locks) in self.pins.locks().iter().enumerate() {
            counts.contention[place] = locks.counts();
            counts.elision[place] = locks.elision();
            counts.look_ups[place] = self.pins.look_ups()[place];
        }
        counts
    }
}

// SAFETY: all rows are in the pages and the memory of this value.
unsafe impl RowStore for NamedCaches {
    fn rows(&self) -> Box<dyn StoredRows> {
        let (places, pins) = (Arc::clone(&self.places), self.rows.pins(self.waiting));
        Box::new(NamedRows { places, pins, memory: self.memory.allocator() })
    }
}

// SAFETY: pages and memory give rows that belong to one reference until it is released; both stay
// mapped as long as this value, and locating writes no row.
unsafe impl StoredRows for NamedRows {
    fn allocate(
        &mut self,
        table: TableId,
        bytes: usize,
    ) -> Result<(u64, NonNull<u64>), RowStoreError> {
        match self.places[usize::from(table.0)] {
            Place::Memory => {
                let words = self.memory.allocate(bytes).ok_or(RowStoreError::Full)?;
                Ok((words.as_ptr().expose_provenance() as u64, words.cast()))
            }
            Place::Pages(number) => {
                // It can fail in one way only: all rows of the table are in use.
                let (reference, row) =
                    self.pins.rows().allocate(number).map_err(|_| RowStoreError::Full)?;
                Ok((reference | IN_PAGES, row.cast()))
            }
        }
    }

    fn locate(&mut self, reference: u64) -> Result<NonNull<u64>, RowStoreError> {
        if reference & IN_PAGES == 0 {
            let row = core::ptr::with_exposed_provenance_mut(reference as usize);
            return NonNull::new(row).ok_or_else(|| unknown(reference));
        }
        let row = self.pins.locate(reference & !IN_PAGES);
        row.map(NonNull::cast).ok_or_else(|| unknown(reference))
    }

    unsafe fn release(&mut self, table: TableId, reference: u64, bytes: usize) {
        match self.places[usize::from(table.0)] {
            // SAFETY: the caller's promise: `allocate` took it from this memory.
            Place::Memory => unsafe { self.memory.release(reference, bytes) },
            Place::Pages(_) => {
                // The reference came from `allocate`, so its page is known.
                let _ = self.pins.rows().free(reference & !IN_PAGES);
            }
        }
    }

    fn end(&mut self) {
        self.pins.release_all();
    }
}

fn unknown(reference: u64) -> RowStoreError {
    RowStoreError::Failed(format!("there is no row {reference:#x}"))
}
