//! One thread's way through the store: look up, lock, copy, and count.

use core::hint::black_box;

use assay_data_cache::{DataCache, Pinned, PoolCaller};
use assay_measure::Done;
use assay_primitives::{LockContext, RawLock};
use assay_workload::{Operation, OperationKind, Stream, Values};

use crate::index::{Entry, Index};
use crate::key_value::KeyValue;
use crate::page::{Page, PageId, Row, RowId};
use crate::{EngineError, Session, SessionCounts};

/// A session of a `KeyValue` store.
pub(crate) struct KeyValueSession<'a, L: RawLock, I: Index<L>, D: DataCache<L>> {
    store: &'a KeyValue<L, I, D>,
    index_locks: LockContext<L>,
    cache: PoolCaller<L>,
    row_locks: LockContext<L>,
    executed: u64,
    copy: Vec<u8>,
    found: Vec<Entry>,
    open: Option<OpenPage>,
}

/// The page into which this session inserts, pinned all the while.
struct OpenPage {
    id: PageId,
    pinned: Pinned,
    next_slot: u16,
}

impl<'a, L: RawLock, I: Index<L>, D: DataCache<L>> KeyValueSession<'a, L, I, D> {
    pub(crate) fn new(store: &'a KeyValue<L, I, D>) -> Self {
        let waiter = || LockContext::new(store.waiting);
        Self {
            store,
            index_locks: waiter(),
            cache: PoolCaller::new(waiter()),
            row_locks: waiter(),
            executed: 0,
            copy: vec![0; store.layout.copied_bytes()],
            found: Vec::new(),
            open: None,
        }
    }

    /// Pins the page of a row that the index knows, through the data cache. The row is used no more
    /// when the page is unpinned.
    #[inline(always)]
    fn pin(&mut self, id: RowId) -> Result<(Pinned, Row<'a, L>), EngineError> {
        let pinned = self.store.pool.pin(id.page(), &mut self.cache)?;
        // SAFETY: the data cache holds whole pages, this one stays while it is pinned, and a row's
        // slot is opened before its id enters the index.
        let row = unsafe { Page::new(pinned.frame()).row(id.slot()) };
        Ok((pinned, row))
    }

    /// Copies a record out; false if it is not the one asked for.
    #[inline(always)]
    fn copy_record(&mut self, id: RowId, key: u64) -> Result<bool, EngineError> {
        let (pinned, row) = self.pin(id)?;
        let copy = self.copy.as_mut_slice();
        // SAFETY: the row's lock is held, and the buffer has the size of a row.
        self.row_locks.with(row.lock(), || unsafe { row.copy_to(copy) });
        // SAFETY: `pin` got it from this pool, and `row` is used no more.
        unsafe { self.store.pool.unpin(pinned, &mut self.cache) };
        // The copy is the operation's result: it must happen although nobody here reads it.
        Ok(self.store.layout.key_of(black_box(copy)) == key)
    }

    #[inline(always)]
    fn read(&mut self, key: u64) -> Result<bool, EngineError> {
        let found = self.store.index.find(key, &mut self.index_locks);
        found.map_or(Ok(false), |row| self.copy_record(row, key))
    }

    #[inline(always)]
    fn update(&mut self, operation: &Operation, value: &[u8]) -> Result<bool, EngineError> {
        let found = self.store.index.find(operation.key, &mut self.index_locks);
        let Some(id) = found else { return Ok(false) };
        let (pinned, row) = self.pin(id)?;
        let field = usize::from(operation.field);
        // SAFETY: the row's lock is held; the workload draws fields of this layout.
        self.row_locks.with(row.lock(), || unsafe {
            row.write_field(field, value, &self.store.layout);
        });
        self.store.pool.mark_changed(&pinned);
        // SAFETY: as in `copy_record`.
        unsafe { self.store.pool.unpin(pinned, &mut self.cache) };
        Ok(true)
    }

    fn scan(&mut self, operation: &Operation) -> Result<bool, EngineError> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let length = usize::from(operation.length);
        self.store.index.scan(operation.key, length, &mut self.index_locks, &mut found);
        let starts_right = found.first().is_some_and(|entry| entry.key == operation.key);
        let mut is_fine = starts_right;
        for entry in &found {
            is_fine &= self.copy_record(entry.row, entry.key)?;
        }
        self.found = found;
        Ok(is_fine)
    }

    /// Writes a new record and publishes it; false if its key is there already.
    pub(crate) fn insert_record(&mut self, key: u64, values: &Values) -> Result<bool, EngineError> {
        let layout = self.store.layout;
        let (id, row) = self.open_row()?;
        // SAFETY: the row enters the index below; the workload's values have the layout's size.
        unsafe { row.fill(key, (0..layout.fields).map(|f| values.initial(key, f)), &layout) };
        // Releasing the index lock publishes the row's bytes to whoever finds the key.
        Ok(self.store.index.insert(Entry { key, row: id }, &mut self.index_locks))
    }

    /// A row that nobody else knows, in the page that stays pinned while it is open.
    fn open_row(&mut self) -> Result<(RowId, Row<'a, L>), EngineError> {
        let layout = &self.store.layout;
        let mut open = match self.open.take() {
            Some(open) if usize::from(open.next_slot) < layout.rows_per_page => open,
            full => {
                self.close(full);
                let (id, pinned) = self.store.new_page(&mut self.cache)?;
                OpenPage { id, pinned, next_slot: 0 }
            }
        };
        let id = RowId::new(open.id, open.next_slot);
        // SAFETY: the page stays in its frame while it is open, here only, and each slot is opened once.
        let row = unsafe { Page::new(open.pinned.frame()).open_slot(open.next_slot, layout) };
        open.next_slot += 1;
        self.open = Some(open);
        Ok((id, row))
    }

    fn close(&mut self, open: Option<OpenPage>) {
        if let Some(open) = open {
            // SAFETY: `new_page` got it from this pool; rows that were opened in it are written.
            unsafe { self.store.pool.unpin(open.pinned, &mut self.cache) };
        }
    }

    #[inline(always)]
    fn apply(&mut self, operation: &Operation, stream: &Stream) -> Result<bool, EngineError> {
        self.executed += 1;
        match operation.kind {
            OperationKind::Read => self.read(operation.key),
            OperationKind::Update => self.update(operation, stream.value(operation)),
            OperationKind::ReadModifyWrite => {
                Ok(self.read(operation.key)? && self.update(operation, stream.value(operation))?)
            }
            OperationKind::Scan => self.scan(operation),
            OperationKind::Insert => {
                let is_new = self.insert_record(operation.key, stream.values())?;
                stream.acknowledge(operation);
                Ok(is_new)
            }
        }
    }

    #[inline(always)]
    fn next(&self, stream: &mut Stream) -> Result<Operation, EngineError> {
        stream.take().ok_or_else(|| self.store.full())
    }
}

impl<L: RawLock, I: Index<L>, D: DataCache<L>> Session for KeyValueSession<'_, L, I, D> {
    fn execute(
        &mut self,
        stream: &mut Stream,
        operations: usize,
        done: &mut Vec<Done>,
    ) -> Result<(), EngineError> {
        for _ in 0..operations {
            let operation = self.next(stream)?;
            let is_fine = self.apply(&operation, stream)?;
            let end_ticks = self.store.clock.ticks();
            let (kind, is_extra) = (self.store.places[operation.kind as usize], stream.is_extra());
            done.push(Done { kind, is_error: !is_fine, is_extra, ..Done::at(end_ticks) });
        }
        Ok(())
    }

    fn counts(&self) -> SessionCounts {
        SessionCounts {
            index: self.index_locks.counts(),
            data_cache: self.cache.contention(),
            row: self.row_locks.counts(),
            pool: self.cache.counts(),
            index_elision: self.index_locks.elision(),
            data_cache_elision: self.cache.elision(),
            row_elision: self.row_locks.elision(),
            executed: self.executed,
        }
    }
}

impl<L: RawLock, I: Index<L>, D: DataCache<L>> Drop for KeyValueSession<'_, L, I, D> {
    fn drop(&mut self) {
        let open = self.open.take();
        self.close(open);
    }
}
