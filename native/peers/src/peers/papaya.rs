//! papaya: a lock-free hash map whose values never change in place. A map, no transactions.
//!
//! The guard that protects reads from reclamation is taken once per batch, as its documentation
//! advises for several operations in a row.

use anyhow::Result;
use assay_workload::{Operation, Values};
use foldhash::fast::RandomState;
use papaya::{HashMap, LocalGuard};

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};

struct Papaya<const N: usize>(HashMap<u64, [u8; N], RandomState>);

impl<const N: usize> Papaya<N> {
    fn new(shape: Shape) -> Self {
        let hasher = RandomState::default();
        Self(HashMap::with_capacity_and_hasher(shape.records as usize, hasher))
    }
}

/// An empty map.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Papaya, setup.shape)
}

impl<const N: usize> Peer for Papaya<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut &self.0)
    }
}

/// The map under a guard.
struct Pinned<'a, const N: usize> {
    map: &'a HashMap<u64, [u8; N], RandomState>,
    guard: LocalGuard<'a>,
}

impl<const N: usize> Session for Pinned<'_, N> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let found = self.map.get(&key, &self.guard);
        Ok(found.map(|record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        if field.is_whole(N) {
            return Ok(self.map.insert(key, field.bytes.try_into()?, &self.guard).is_some());
        }
        let change = |record: &[u8; N]| {
            let mut changed = *record;
            field.write_to(&mut changed);
            changed
        };
        Ok(self.map.update(key, change, &self.guard).is_some())
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.map.insert(key, record.try_into()?, &self.guard);
        Ok(())
    }
}

impl<const N: usize> Session for &HashMap<u64, [u8; N], RandomState> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        Pinned { map: self, guard: self.guard() }.get(key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        Pinned { map: self, guard: self.guard() }.update(key, field)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        Pinned { map: self, guard: self.guard() }.insert(key, record)
    }

    fn execute(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        Pinned { map: self, guard: self.guard() }.execute(batch, values, copy)
    }
}
