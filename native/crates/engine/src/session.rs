//! One thread's way through the store: look up, lock, copy, and count.

use core::hint::black_box;

use assay_primitives::{RawLock, Waiter};
use assay_workload::{Operation, OperationKind, Stream, Values};

use crate::data_cache::DataCache;
use crate::index::{Entry, Index};
use crate::key_value::KeyValue;
use crate::page::{Page, PageId, Row, RowId};
use crate::{Completion, EngineError, Session, SessionCounts};

/// A session of a `KeyValue` store.
pub(crate) struct KeyValueSession<'a, L, I, D> {
    store: &'a KeyValue<L, I, D>,
    index_locks: Waiter,
    cache_locks: Waiter,
    row_locks: Waiter,
    lookups: u64,
    executed: u64,
    copy: Vec<u8>,
    found: Vec<Entry>,
    open: Option<OpenPage>,
}

/// The page into which this session inserts.
struct OpenPage {
    id: PageId,
    page: Page,
    next_slot: u16,
}

// SAFETY: the open page belongs to this session alone, on whatever thread it runs.
unsafe impl<L: RawLock, I: Index<L>, D: DataCache<L>> Send for KeyValueSession<'_, L, I, D> {}

impl<'a, L: RawLock, I: Index<L>, D: DataCache<L>> KeyValueSession<'a, L, I, D> {
    pub(crate) fn new(store: &'a KeyValue<L, I, D>) -> Self {
        let waiter = || Waiter::new(store.waiting);
        Self {
            store,
            index_locks: waiter(),
            cache_locks: waiter(),
            row_locks: waiter(),
            lookups: 0,
            executed: 0,
            copy: vec![0; store.layout.copied_bytes()],
            found: Vec::new(),
            open: None,
        }
    }

    /// The row behind a row id, through the data cache.
    #[inline(always)]
    fn row(&mut self, id: RowId) -> Option<Row<L>> {
        self.lookups += 1;
        let memory = (self.store.look_up)(&self.store.cache, id.page(), &mut self.cache_locks)?;
        // SAFETY: the data cache holds whole pages of the arena, which outlives the session.
        Some(unsafe { Page::new(memory) }.row(id.slot()))
    }

    /// Copies a record out; false if it is not the one asked for.
    #[inline(always)]
    fn copy_record(&mut self, id: RowId, key: u64) -> bool {
        let Some(row) = self.row(id) else { return false };
        let copy = self.copy.as_mut_slice();
        // SAFETY: the row's lock is held, and the buffer has the size of a row.
        self.row_locks.with(row.lock(), || unsafe { row.copy_to(copy) });
        // The copy is the operation's result: it must happen although nobody here reads it.
        self.store.layout.key_of(black_box(copy)) == key
    }

    #[inline(always)]
    fn read(&mut self, key: u64) -> bool {
        let found = self.store.index.find(key, &mut self.index_locks);
        found.is_some_and(|row| self.copy_record(row, key))
    }

    #[inline(always)]
    fn update(&mut self, operation: &Operation, value: &[u8]) -> bool {
        let found = self.store.index.find(operation.key, &mut self.index_locks);
        let Some(row) = found.and_then(|id| self.row(id)) else { return false };
        let field = usize::from(operation.field);
        // SAFETY: the row's lock is held; the workload draws fields of this layout.
        self.row_locks.with(row.lock(), || unsafe {
            row.write_field(field, value, &self.store.layout);
        });
        true
    }

    fn scan(&mut self, operation: &Operation) -> bool {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let length = usize::from(operation.length);
        self.store.index.scan(operation.key, length, &mut self.index_locks, &mut found);
        let starts_right = found.first().is_some_and(|entry| entry.key == operation.key);
        let is_fine = found.iter().all(|entry| self.copy_record(entry.row, entry.key));
        self.found = found;
        starts_right && is_fine
    }

    /// Writes a new record and publishes it; false if its key is there already.
    pub(crate) fn insert_record(&mut self, key: u64, values: &Values) -> Result<bool, EngineError> {
        let layout = self.store.layout;
        let (id, row) = self.open_row()?;
        row.fill(key, (0..layout.fields).map(|field| values.initial(key, field)), &layout);
        // Releasing the index lock publishes the row's bytes to whoever finds the key.
        Ok(self.store.index.insert(Entry { key, row: id }, &mut self.index_locks))
    }

    fn open_row(&mut self) -> Result<(RowId, Row<L>), EngineError> {
        let layout = &self.store.layout;
        let mut open = match self.open.take() {
            Some(open) if usize::from(open.next_slot) < layout.rows_per_page => open,
            _ => {
                let (id, page) = self.store.new_page(&mut self.cache_locks)?;
                OpenPage { id, page, next_slot: 0 }
            }
        };
        let row =
            (RowId::new(open.id, open.next_slot), open.page.open_slot(open.next_slot, layout));
        open.next_slot += 1;
        self.open = Some(open);
        Ok(row)
    }

    #[inline(always)]
    fn apply(&mut self, operation: &Operation, stream: &Stream) -> Result<bool, EngineError> {
        self.executed += 1;
        Ok(match operation.kind {
            OperationKind::Read => self.read(operation.key),
            OperationKind::Update => self.update(operation, stream.value(operation)),
            OperationKind::ReadModifyWrite => {
                self.read(operation.key) && self.update(operation, stream.value(operation))
            }
            OperationKind::Scan => self.scan(operation),
            OperationKind::Insert => {
                let is_new = self.insert_record(operation.key, stream.values())?;
                stream.acknowledge(operation);
                is_new
            }
        })
    }

    #[inline(always)]
    fn next(&self, stream: &mut Stream) -> Result<Operation, EngineError> {
        stream.take().ok_or_else(|| self.store.full())
    }
}

impl<L: RawLock, I: Index<L>, D: DataCache<L>> Session for KeyValueSession<'_, L, I, D> {
    fn execute(&mut self, stream: &mut Stream, done: &mut [Completion]) -> Result<(), EngineError> {
        for completion in done {
            let operation = self.next(stream)?;
            let is_fine = self.apply(&operation, stream)?;
            *completion = Completion {
                end_ticks: self.store.clock.ticks(),
                kind: operation.kind,
                is_error: !is_fine,
                is_extra: stream.is_extra(),
            };
        }
        Ok(())
    }

    fn counts(&self) -> SessionCounts {
        SessionCounts {
            index: self.index_locks.counts(),
            data_cache: self.cache_locks.counts(),
            row: self.row_locks.counts(),
            data_cache_lookups: self.lookups,
            executed: self.executed,
        }
    }
}
