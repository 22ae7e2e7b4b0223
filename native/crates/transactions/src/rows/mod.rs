//! Where rows live: in memory, or behind a row store that may keep them elsewhere.
//!
//! For rows in memory the reference that an index holds is the address, and locating a row is a
//! cast. Any other place is a [`RowStore`], reached by an indirect call per row.

mod memory;

use core::any::Any;
use core::ptr::NonNull;
use std::sync::Arc;

use assay_workload::tables::TableId;

pub use memory::{Allocator, MemoryRows};

use crate::error::RowStoreError;
use crate::row::Row;
use assay_primitives::sync::AtomicU64;

/// A place for rows that is not simply memory, such as slotted pages behind a data cache.
///
/// A row is `bytes` bytes, aligned to eight: the header words of concurrency control, then the
/// table's row. The store does not look into it. A pointer that it gave stays valid, and the row
/// in its place, until the worker calls `end`: the row is *pinned*. Several workers may have the
/// same row pinned and then get the same pointer; all of them access it as atomic words.
///
/// Locks in headers are taken and released while the row is pinned, so an unpinned row's header
/// carries no lock, and a copy written out while it is unpinned is a committed row. After an
/// unclean end of the process what the store kept is not used: recovery is by the redo log.
///
/// # Safety
/// Every [`StoredRows`] is one of this store.
pub unsafe trait RowStore: Send + Sync {
    /// A worker's way to the rows.
    fn rows(&self) -> Box<dyn StoredRows>;
}

// SAFETY: the rows are those of the shared store.
unsafe impl<S: RowStore> RowStore for Arc<S> {
    fn rows(&self) -> Box<dyn StoredRows> {
        (**self).rows()
    }
}

/// One worker's way to the rows of a [`RowStore`].
///
/// # Safety
/// `allocate` and `locate` return pointers to `bytes` valid, initialised bytes, aligned to eight,
/// that belong to this row alone until it is released and that nobody accesses other than
/// atomically until this worker's `end`.
pub unsafe trait StoredRows: Any + Send {
    /// Makes a row of unspecified content, pinned for the worker. References are not
    /// `assay_index::NO_REFERENCE`.
    ///
    /// # Errors
    /// `Full`, `Failed`.
    fn allocate(
        &mut self,
        table: TableId,
        bytes: usize,
    ) -> Result<(u64, NonNull<u64>), RowStoreError>;

    /// Where the row of a reference is now, pinned for the worker.
    ///
    /// # Errors
    /// `Failed` when it cannot be read.
    fn locate(&mut self, reference: u64) -> Result<NonNull<u64>, RowStoreError>;

    /// The worker has changed the committed content of a row that it has pinned.
    fn modified(&mut self, _reference: u64) {}

    /// The row is gone. It may still be pinned by nobody or by this worker.
    ///
    /// # Safety
    /// `allocate` gave this reference for this table and size, and nobody will locate or release it
    /// again.
    unsafe fn release(&mut self, table: TableId, reference: u64, bytes: usize);

    /// The worker's transaction has ended: it uses no pointer any more.
    fn end(&mut self);
}

/// Where a database keeps its rows.
pub enum Rows {
    /// In memory.
    Memory(MemoryRows),
    /// Behind a row store. Older versions of rows still lie in the memory given here.
    Store {
        /// The store.
        store: Box<dyn RowStore>,
        /// For older versions (multi-version only).
        versions: MemoryRows,
    },
}

impl Rows {
    /// The memory, for rows or for older versions alone.
    pub(crate) fn memory(&self) -> &MemoryRows {
        match self {
            Rows::Memory(memory) => memory,
            Rows::Store { versions, .. } => versions,
        }
    }

    fn store(&self) -> Option<Box<dyn StoredRows>> {
        match self {
            Rows::Memory(_) => None,
            Rows::Store { store, .. } => Some(store.rows()),
        }
    }
}

/// One worker's way to its rows.
pub struct RowAccess {
    store: Option<Box<dyn StoredRows>>,
    /// Memory for rows and for older versions.
    pub memory: Allocator,
    /// Rows located in the store.
    pub look_ups: u64,
}

impl RowAccess {
    pub(crate) fn new(rows: &Rows) -> Self {
        Self { store: rows.store(), memory: rows.memory().allocator(), look_ups: 0 }
    }

    /// The worker's side of the store, if it is of this type.
    pub fn stored<S: StoredRows>(&self) -> Option<&S> {
        let store: &dyn Any = self.store.as_deref()?;
        store.downcast_ref()
    }

    /// The row of a reference that the index gave during this transaction.
    #[inline(always)]
    pub fn locate(&mut self, reference: u64) -> Result<Row, RowStoreError> {
        match &mut self.store {
            // SAFETY: without a store references are addresses of rows, which are not reused
            // before every transaction that could know them has ended.
            None => Ok(unsafe { Row::at(NonNull::new_unchecked(pointer(reference))) }),
            Some(store) => Self::locate_stored(&mut **store, &mut self.look_ups, reference),
        }
    }

    #[inline(never)]
    fn locate_stored(
        store: &mut dyn StoredRows,
        look_ups: &mut u64,
        reference: u64,
    ) -> Result<Row, RowStoreError> {
        *look_ups += 1;
        let words = store.locate(reference)?;
        // SAFETY: the contract of `StoredRows`; the row is pinned until `end`.
        Ok(unsafe { Row::at(words.cast()) })
    }

    /// Asks for a row that an index named, without locating it in a store.
    #[inline(always)]
    pub fn prefetch(&self, reference: u64, bytes: usize) {
        if self.store.is_none()
            && let Some(words) = NonNull::new(pointer(reference))
        {
            // SAFETY: only its address is used, and not to access it.
            unsafe { Row::at(words) }.prefetch(bytes);
        }
    }

    /// A new row of unspecified content and its reference.
    pub fn allocate(&mut self, table: TableId, bytes: usize) -> Result<(u64, Row), RowStoreError> {
        let (reference, words) = match &mut self.store {
            None => {
                let words = self.memory.allocate(bytes).ok_or(RowStoreError::Full)?;
                (words.as_ptr().expose_provenance() as u64, words)
            }
            Some(store) => store.allocate(table, bytes)?,
        };
        // SAFETY: fresh memory of `bytes` bytes, kept until it is released.
        Ok((reference, unsafe { Row::at(words.cast()) }))
    }

    /// Gives a row back.
    ///
    /// # Safety
    /// `allocate` gave it, no transaction can find it any more, and it is given back once.
    pub unsafe fn release(&mut self, table: TableId, reference: u64, bytes: usize) {
        match &mut self.store {
            // SAFETY: the caller's promise.
            None => unsafe { self.memory.release(reference, bytes) },
            // SAFETY: as above.
            Some(store) => unsafe { store.release(table, reference, bytes) },
        }
    }

    /// The committed content of a located row has changed.
    #[inline(always)]
    pub fn modified(&mut self, reference: u64) {
        if let Some(store) = &mut self.store {
            store.modified(reference);
        }
    }

    /// No row is used any more.
    #[inline(always)]
    pub fn end(&mut self) {
        if let Some(store) = &mut self.store {
            store.end();
        }
    }
}

/// The pointer whose address was exposed as a reference.
#[inline(always)]
pub(crate) fn pointer(reference: u64) -> *mut AtomicU64 {
    core::ptr::with_exposed_provenance_mut(reference as usize)
}
