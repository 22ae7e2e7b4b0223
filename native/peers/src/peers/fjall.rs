//! fjall: a log-structured merge tree in Rust, with background threads. An operation on one key is
//! atomic; its transactions over several keys are not used.

use anyhow::Result;
use fjall::config::CompressionPolicy;
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions};

use crate::peer::{Field, Peer, Session, Setup, copy_out};
use crate::stripes::Stripes;

/// More than the data: nothing is decoded twice for want of room.
const CACHE_BYTES: u64 = 2 << 30;
/// Large enough that the records and many updates stay in the write buffer.
const MEMTABLE_BYTES: u64 = 64 << 20;

struct Fjall {
    /// Keeps the background threads alive.
    _database: Database,
    records: Keyspace,
    stripes: Stripes,
    record_bytes: usize,
}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let database = Database::builder(setup.folder)
        .cache_size(CACHE_BYTES)
        .journal_compression(CompressionType::None)
        .manual_journal_persist(true)
        .temporary(true)
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .data_block_compression_policy(CompressionPolicy::disabled())
            .expect_point_read_hits(true)
            .max_memtable_size(MEMTABLE_BYTES)
            .manual_journal_persist(true)
    };
    let records = database.keyspace("records", options)?;
    let record_bytes = setup.shape.record_bytes();
    Ok(Box::new(Fjall { _database: database, records, stripes: Stripes::new(), record_bytes }))
}

impl Peer for Fjall {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut FjallSession { fjall: self, record: vec![0; self.record_bytes] })
    }
}

struct FjallSession<'a> {
    fjall: &'a Fjall,
    /// Where a record is changed before it is put back.
    record: Vec<u8>,
}

impl Session for FjallSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let found = self.fjall.records.get(key.to_be_bytes())?;
        Ok(found.map(|record| copy_out(&record, copy)).is_some())
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let encoded = key.to_be_bytes();
        if field.is_whole(self.record.len()) {
            self.fjall.records.insert(encoded, field.bytes)?;
            return Ok(true);
        }
        let _lock = self.fjall.stripes.lock(key);
        let Some(found) = self.fjall.records.get(encoded)? else { return Ok(false) };
        self.record.copy_from_slice(&found);
        field.write_to(&mut self.record);
        self.fjall.records.insert(encoded, self.record.as_slice())?;
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        Ok(self.fjall.records.insert(key.to_be_bytes(), record)?)
    }
}
