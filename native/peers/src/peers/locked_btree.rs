//! The standard library's B-tree behind one reader-writer lock. A map, no transactions.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use anyhow::Result;

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};

struct Locked<const N: usize>(RwLock<BTreeMap<u64, [u8; N]>>);

impl<const N: usize> Locked<N> {
    fn new(_: Shape) -> Self {
        Self(RwLock::default())
    }
}

/// An empty map.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Locked, setup.shape)
}

impl<const N: usize> Peer for Locked<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut { self })
    }
}

impl<const N: usize> Session for &Locked<N> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(map.get(&key).map(|record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Ok(map.get_mut(&key).map(|record| field.write_to(record)).is_some())
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        map.insert(key, record.try_into()?);
        Ok(())
    }
}
