//! A slow row store that behaves as pages behind a cache do: rows move whenever nobody has them
//! pinned, and memory that nobody may use any more is overwritten.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use assay_transactions::{RowStore, RowStoreError};
use assay_workload::tables::TableId;

#[derive(Default)]
struct Stored {
    words: Box<[u64]>,
    pins: usize,
}

#[derive(Default)]
struct State {
    rows: HashMap<u64, Stored>,
    /// References that each worker has pinned.
    pinned: HashMap<usize, Vec<u64>>,
    next: u64,
    moves: u64,
}

/// The store. References are numbers, not addresses.
#[derive(Default)]
pub struct MovingRows {
    state: Mutex<State>,
    capacity: usize,
}

impl MovingRows {
    /// Room for some rows.
    pub fn new(capacity: usize) -> Self {
        Self { state: Mutex::default(), capacity }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn pin(&mut self, worker: usize, reference: u64) -> NonNull<u64> {
        let stored = self.rows.get_mut(&reference).expect("a released row was located");
        if stored.pins == 0 {
            let moved = stored.words.clone();
            stored.words.fill(u64::MAX);
            stored.words = moved;
            self.moves += 1;
        }
        stored.pins += 1;
        let words = NonNull::new(stored.words.as_mut_ptr()).unwrap();
        self.pinned.entry(worker).or_default().push(reference);
        words
    }
}

// SAFETY: boxed words, which stay in place while a worker has them pinned, and are touched by this
// store under its lock and only while nobody has.
unsafe impl RowStore for MovingRows {
    fn allocate(
        &self,
        worker: usize,
        _: TableId,
        bytes: usize,
    ) -> Result<(u64, NonNull<u64>), RowStoreError> {
        let mut state = self.state();
        if state.rows.len() >= self.capacity {
            return Err(RowStoreError::Full);
        }
        let reference = state.next;
        state.next += 1;
        let words = vec![u64::MAX; bytes / 8].into_boxed_slice();
        state.rows.insert(reference, Stored { words, pins: 0 });
        Ok((reference, state.pin(worker, reference)))
    }

    fn locate(&self, worker: usize, reference: u64) -> Result<NonNull<u64>, RowStoreError> {
        Ok(self.state().pin(worker, reference))
    }

    fn release(&self, worker: usize, _: TableId, reference: u64, _: usize) {
        let mut state = self.state();
        if let Some(pinned) = state.pinned.get_mut(&worker) {
            pinned.retain(|other| *other != reference);
        }
        assert!(state.rows.remove(&reference).is_some(), "released twice");
    }

    fn end(&self, worker: usize) {
        let mut state = self.state();
        for reference in state.pinned.remove(&worker).unwrap_or_default() {
            if let Some(stored) = state.rows.get_mut(&reference) {
                stored.pins -= 1;
            }
        }
    }
}
