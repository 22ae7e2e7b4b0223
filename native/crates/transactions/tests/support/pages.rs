//! A slow row store that behaves as pages behind a cache do: rows move whenever nobody has them
//! pinned, and memory that nobody may use any more is overwritten.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use assay_transactions::{RowStore, RowStoreError, StoredRows};
use assay_workload::tables::TableId;

#[derive(Default)]
struct Stored {
    words: Box<[u64]>,
    pins: usize,
}

#[derive(Default)]
struct State {
    rows: HashMap<u64, Stored>,
    next: u64,
    moves: u64,
}

/// The store. References are numbers, not addresses.
#[derive(Default)]
pub struct MovingRows {
    state: Arc<Mutex<State>>,
    capacity: usize,
}

impl MovingRows {
    /// Room for some rows.
    pub fn new(capacity: usize) -> Self {
        Self { state: Arc::default(), capacity }
    }
}

/// A worker's side, with the references that it has pinned.
struct Side {
    state: Arc<Mutex<State>>,
    capacity: usize,
    pinned: Vec<u64>,
}

impl Side {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn pin(&mut self, reference: u64) -> NonNull<u64> {
        let stored = self.rows.get_mut(&reference).expect("a released row was located");
        if stored.pins == 0 {
            let moved = stored.words.clone();
            stored.words.fill(u64::MAX);
            stored.words = moved;
            self.moves += 1;
        }
        stored.pins += 1;
        NonNull::new(stored.words.as_mut_ptr()).unwrap()
    }
}

// SAFETY: the rows are those of `Side`.
unsafe impl RowStore for MovingRows {
    fn rows(&self) -> Box<dyn StoredRows> {
        let (state, capacity) = (Arc::clone(&self.state), self.capacity);
        Box::new(Side { state, capacity, pinned: Vec::new() })
    }
}

// SAFETY: boxed words, which stay in place while a worker has them pinned, and are touched by this
// store under its lock and only while nobody has.
unsafe impl StoredRows for Side {
    fn allocate(&mut self, _: TableId, bytes: usize) -> Result<(u64, NonNull<u64>), RowStoreError> {
        let mut state = self.state();
        if state.rows.len() >= self.capacity {
            return Err(RowStoreError::Full);
        }
        let reference = state.next;
        state.next += 1;
        let words = vec![u64::MAX; bytes / 8].into_boxed_slice();
        state.rows.insert(reference, Stored { words, pins: 0 });
        let words = state.pin(reference);
        drop(state);
        self.pinned.push(reference);
        Ok((reference, words))
    }

    fn locate(&mut self, reference: u64) -> Result<NonNull<u64>, RowStoreError> {
        let words = self.state().pin(reference);
        self.pinned.push(reference);
        Ok(words)
    }

    unsafe fn release(&mut self, _: TableId, reference: u64, _: usize) {
        self.pinned.retain(|other| *other != reference);
        assert!(self.state().rows.remove(&reference).is_some(), "released twice");
    }

    fn end(&mut self) {
        let pinned = std::mem::take(&mut self.pinned);
        let mut state = self.state();
        for reference in pinned {
            if let Some(stored) = state.rows.get_mut(&reference) {
                stored.pins -= 1;
            }
        }
    }
}
