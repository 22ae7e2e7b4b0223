//! scc::TreeIndex: a B+tree read without locks, whose values never change in place. A map, no
//! transactions.
//!
//! An update puts a new value in place of the old one (`upsert`).

use anyhow::Result;
use scc::TreeIndex;

use crate::peer::{Field, Peer, Session, Setup, Shape, by_size, copy_out};
use crate::stripes::Stripes;

struct Tree<const N: usize> {
    tree: TreeIndex<u64, [u8; N]>,
    stripes: Stripes,
}

impl<const N: usize> Tree<N> {
    fn new(_: Shape) -> Self {
        Self { tree: TreeIndex::new(), stripes: Stripes::new() }
    }
}

/// An empty tree.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    by_size!(Tree, setup.shape)
}

impl<const N: usize> Peer for Tree<N> {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut { self })
    }
}

impl<const N: usize> Session for &Tree<N> {
    #[inline]
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        Ok(self.tree.peek_with(&key, |_, record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        if field.is_whole(N) {
            self.tree.upsert_sync(key, field.bytes.try_into()?);
            return Ok(true);
        }
        let _lock = self.stripes.lock(key);
        let Some(mut record) = self.tree.peek_with(&key, |_, record| *record) else {
            return Ok(false);
        };
        field.write_to(&mut record);
        self.tree.upsert_sync(key, record);
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.tree.upsert_sync(key, record.try_into()?);
        Ok(())
    }
}
