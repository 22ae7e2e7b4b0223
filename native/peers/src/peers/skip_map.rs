//! crossbeam-skiplist: a lock-free skip list whose values never change in place. A map, no
//! transactions.
//!
//! Inserting a key that exists removes the old entry first, so that a look-up may find nothing for
//! a moment; here it looks again.

use std::time::{Duration, Instant};

use anyhow::Result;
use crossbeam_skiplist::SkipMap;

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};
use crate::stripes::Stripes;

struct Skip<const N: usize> {
    map: SkipMap<u64, [u8; N]>,
    stripes: Stripes,
}

impl<const N: usize> Skip<N> {
    fn new(_: Shape) -> Self {
        Self { map: SkipMap::new(), stripes: Stripes::new() }
    }
}

/// Until a key counts as absent: the writer in the middle of its two steps may have lost the CPU.
const PATIENCE: Duration = Duration::from_millis(200);

impl<const N: usize> Skip<N> {
    #[inline]
    fn find<T>(&self, key: u64, mut use_it: impl FnMut(&[u8; N]) -> T) -> Option<T> {
        match self.map.get(&key) {
            Some(entry) => Some(use_it(entry.value())),
            None => self.find_again(key, use_it),
        }
    }

    #[cold]
    fn find_again<T>(&self, key: u64, mut use_it: impl FnMut(&[u8; N]) -> T) -> Option<T> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(entry) = self.map.get(&key) {
                return Some(use_it(entry.value()));
            }
            std::thread::yield_now();
        }
        None
    }
}

/// An empty list.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Skip, setup.shape)
}

impl<const N: usize> Peer for Skip<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut { self })
    }
}

impl<const N: usize> Session for &Skip<N> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        Ok(self.find(key, |record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        if field.is_whole(N) {
            self.map.insert(key, field.bytes.try_into()?);
            return Ok(true);
        }
        let _lock = self.stripes.lock(key);
        let Some(mut record) = self.find(key, |record| *record) else { return Ok(false) };
        field.write_to(&mut record);
        self.map.insert(key, record);
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.map.insert(key, record.try_into()?);
        Ok(())
    }
}
