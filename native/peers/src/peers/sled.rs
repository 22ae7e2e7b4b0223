//! sled 0.34: a Bw-tree-like store in Rust, with background threads. An operation on one key is
//! atomic; its transactions over several keys are not used.

use anyhow::Result;
use sled::{Config, Db, Mode};

use crate::peer::{Field, Peer, Session, Setup, copy_out};

/// More than the data: no page is evicted.
const CACHE_BYTES: u64 = 4 << 30;

struct Sled {
    tree: Db,
    record_bytes: usize,
}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let config = Config::new()
        .path(setup.folder.join("sled"))
        .mode(Mode::HighThroughput)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None)
        .temporary(true);
    Ok(Box::new(Sled { tree: config.open()?, record_bytes: setup.shape.record_bytes() }))
}

impl Peer for Sled {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut { self })
    }
}

impl Session for &Sled {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let found = self.tree.get(key.to_be_bytes())?;
        Ok(found.map(|record| copy_out(&record, copy)).is_some())
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        if field.is_whole(self.record_bytes) {
            return Ok(self.tree.insert(key.to_be_bytes(), field.bytes)?.is_some());
        }
        let changed = |record: Option<&[u8]>| {
            let mut record = record?.to_vec();
            field.write_to(&mut record);
            Some(record)
        };
        Ok(self.tree.update_and_fetch(key.to_be_bytes(), changed)?.is_some())
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.tree.insert(key.to_be_bytes(), record)?;
        Ok(())
    }
}
