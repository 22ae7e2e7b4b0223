//! dashmap: hash maps in shards, each behind a reader-writer lock. A map, no transactions.

use anyhow::Result;
use foldhash::fast::RandomState;

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};

/// Values lie in the table itself.
struct Dash<const N: usize>(dashmap::DashMap<u64, [u8; N], RandomState>);

impl<const N: usize> Dash<N> {
    fn new(shape: Shape) -> Self {
        let capacity = shape.records as usize;
        let map = dashmap::DashMap::with_capacity_and_hasher(capacity, RandomState::default());
        Self(map)
    }
}

/// An empty map.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Dash, setup.shape)
}

impl<const N: usize> Peer for Dash<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut &self.0)
    }
}

impl<const N: usize> Session for &dashmap::DashMap<u64, [u8; N], RandomState> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let found = dashmap::DashMap::get(self, &key);
        Ok(found.map(|record| copy_out(&*record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let found = self.get_mut(&key);
        Ok(found.map(|mut record| field.write_to(&mut *record)).is_some())
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        dashmap::DashMap::insert(self, key, record.try_into()?);
        Ok(())
    }
}
