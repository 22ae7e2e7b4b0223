//! The row store of the transactional engine: pages behind named caches, and memory beside them.
//!
//! Data tables lie in pages of the cache `default` or in memory; system tables always lie in pages
//! of the cache `system`. A reference with the top bit set names a row in pages, any other is an
//! address.

use core::cell::UnsafeCell;
use core::ptr::NonNull;

use assay_data_cache::{PagedRows, PinSet};
use assay_primitives::locks::ElisionCounts;
use assay_primitives::{Arena, Contention, Waiter};
use assay_transactions::{Allocator, MemoryRows, RowStore, RowStoreError};
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

/// What one worker uses, and nobody else.
struct Own {
    pins: PinSet,
    waiters: Vec<Waiter>,
    memory: Allocator,
}

/// See the module.
pub struct NamedCaches {
    places: Vec<Place>,
    rows: PagedRows,
    own: Vec<UnsafeCell<Own>>,
    /// Last, so that everything that points into it is dropped before.
    arena: Arena,
}

// SAFETY: `own` is reached by worker number, and a worker is one thread at a time; everything else
// is shared by design.
unsafe impl Sync for NamedCaches {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for NamedCaches {}

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
    /// Rows in these places. `waiter` makes a waiter for the caches' locks.
    pub fn new(
        places: Vec<Place>,
        rows: PagedRows,
        memory: &MemoryRows,
        workers: usize,
        waiter: impl Fn() -> Waiter,
        arena: Arena,
    ) -> Self {
        let own = || Own {
            pins: PinSet::new(),
            waiters: CACHES.iter().map(|_| waiter()).collect(),
            memory: memory.allocator(),
        };
        let own = (0..workers).map(|_| UnsafeCell::new(own())).collect();
        Self { places, rows, own, arena }
    }

    /// The pages, for witnesses and manifests.
    pub fn rows(&self) -> &PagedRows {
        &self.rows
    }

    /// The memory of pages and caches.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    #[allow(clippy::mut_from_ref)] // A worker's own.
    fn own(&self, worker: usize) -> &mut Own {
        // SAFETY: a worker's number belongs to one thread at a time, and no reference made here
        // outlives the call that made it.
        unsafe { &mut *self.own[worker].get() }
    }

    /// What a worker met so far. Only that worker's own thread may ask.
    pub fn counts(&self, worker: usize) -> CacheCounts {
        let own = self.own(worker);
        let mut counts = CacheCounts::default();
        for (place, waiter) in own.waiters.iter().enumerate() {
            counts.contention[place] = waiter.counts();
            counts.elision[place] = waiter.elision();
            counts.look_ups[place] = own.pins.look_ups()[place];
        }
        counts
    }
}

// SAFETY: pages and memory give rows that belong to one reference until it is released; both stay
// mapped as long as the store, and locating writes no row.
unsafe impl RowStore for NamedCaches {
    fn allocate(
        &self,
        worker: usize,
        table: TableId,
        bytes: usize,
    ) -> Result<(u64, NonNull<u64>), RowStoreError> {
        match self.places[usize::from(table.0)] {
            Place::Memory => {
                let words = self.own(worker).memory.allocate(bytes).ok_or(RowStoreError::Full)?;
                Ok((words.as_ptr().expose_provenance() as u64, words.cast()))
            }
            Place::Pages(number) => {
                // It can fail in one way only: all rows of the table are in use.
                let (reference, row) =
                    self.rows.allocate(number).map_err(|_| RowStoreError::Full)?;
                Ok((reference | IN_PAGES, row.cast()))
            }
        }
    }

    fn locate(&self, worker: usize, reference: u64) -> Result<NonNull<u64>, RowStoreError> {
        if reference & IN_PAGES == 0 {
            let row = core::ptr::with_exposed_provenance_mut(reference as usize);
            return NonNull::new(row).ok_or_else(|| unknown(reference));
        }
        let Own { pins, waiters, .. } = self.own(worker);
        let row = self.rows.locate(reference & !IN_PAGES, pins, waiters);
        row.map(NonNull::cast).ok_or_else(|| unknown(reference))
    }

    fn release(&self, worker: usize, table: TableId, reference: u64, bytes: usize) {
        match self.places[usize::from(table.0)] {
            Place::Memory => self.own(worker).memory.release(reference, bytes),
            Place::Pages(_) => {
                // The reference came from `allocate`, so its page is known.
                let _ = self.rows.free(reference & !IN_PAGES);
            }
        }
    }

    fn end(&self, worker: usize) {
        let Own { pins, waiters, .. } = self.own(worker);
        pins.release_all(&self.rows, waiters);
    }
}

fn unknown(reference: u64) -> RowStoreError {
    RowStoreError::Failed(format!("there is no row {reference:#x}"))
}
