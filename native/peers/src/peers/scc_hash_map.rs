//! scc::HashMap: a hash map with a lock per bucket. A map, no transactions.

use anyhow::Result;
use foldhash::fast::RandomState;
use scc::HashMap;

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};

struct Scc<const N: usize>(HashMap<u64, [u8; N], RandomState>);

impl<const N: usize> Scc<N> {
    fn new(shape: Shape) -> Self {
        let hasher = RandomState::default();
        Self(HashMap::with_capacity_and_hasher(shape.records as usize, hasher))
    }
}

/// An empty map.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Scc, setup.shape)
}

impl<const N: usize> Peer for Scc<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut &self.0)
    }
}

impl<const N: usize> Session for &HashMap<u64, [u8; N], RandomState> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        Ok(self.read_sync(&key, |_, record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        Ok(self.update_sync(&key, |_, record| field.write_to(record)).is_some())
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.upsert_sync(key, record.try_into()?);
        Ok(())
    }
}
