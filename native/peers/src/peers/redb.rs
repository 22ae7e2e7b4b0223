//! redb in memory: a copy-on-write B-tree in Rust, one writer. One operation is one transaction.

use anyhow::Result;
use redb::backends::InMemoryBackend;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};

use crate::peer::{Field, Peer, Records, Session, Setup, copy_out};

const RECORDS: TableDefinition<u64, &[u8]> = TableDefinition::new("records");
/// As much as the records and their copies can take: nothing is ever read back from the backend.
const CACHE_BYTES: usize = 4 << 30;

struct Redb {
    database: Database,
    record_bytes: usize,
}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let database = builder.create_with_backend(InMemoryBackend::new())?;
    let redb = Redb { database, record_bytes: setup.shape.record_bytes() };
    let write = redb.begin_write()?;
    write.open_table(RECORDS)?;
    write.commit()?;
    Ok(Box::new(redb))
}

impl Redb {
    fn begin_write(&self) -> Result<WriteTransaction> {
        let mut write = self.database.begin_write()?;
        write.set_durability(Durability::None)?;
        Ok(write)
    }
}

impl Peer for Redb {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut RedbSession { redb: self, record: vec![0; self.record_bytes] })
    }

    fn load(&self, records: &Records<'_>) -> Result<()> {
        let write = self.database.begin_write()?;
        let mut table = write.open_table(RECORDS)?;
        records.each(|key, record| {
            table.insert(key, record)?;
            Ok(())
        })?;
        drop(table);
        Ok(write.commit()?)
    }
}

struct RedbSession<'a> {
    redb: &'a Redb,
    /// Where a record is changed before it is put back.
    record: Vec<u8>,
}

impl Session for RedbSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let read = self.redb.database.begin_read()?;
        let found = read.open_table(RECORDS)?.get(key)?;
        Ok(found.map(|record| copy_out(record.value(), copy)).is_some())
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let write = self.redb.begin_write()?;
        {
            let mut table = write.open_table(RECORDS)?;
            if !field.is_whole(self.record.len()) {
                let Some(found) = table.get(key)? else { return Ok(false) };
                self.record.copy_from_slice(found.value());
            }
            field.write_to(&mut self.record);
            table.insert(key, self.record.as_slice())?;
        }
        write.commit()?;
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let write = self.redb.begin_write()?;
        write.open_table(RECORDS)?.insert(key, record)?;
        Ok(write.commit()?)
    }
}
