//! redb in memory: a copy-on-write B-tree in Rust, one writer. One operation is one transaction.

use std::hint::black_box;

use anyhow::Result;
use assay_workload::{Operation, OperationKind, Values};
use redb::backends::InMemoryBackend;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};

use crate::batched::{Batched, Transactional, is_read_only};
use crate::peer::{Field, Peer, Records, Session, Setup, copy_out};

const RECORDS: TableDefinition<u64, &[u8]> = TableDefinition::new("records");
/// As much as the records and their copies can take: nothing is ever read back from the backend.
const CACHE_BYTES: usize = 4 << 30;

struct Redb {
    database: Database,
    record_bytes: usize,
    is_batched: bool,
}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_as(setup, false)
}

/// The same, told several operations at a time.
pub fn open_batched(setup: &Setup) -> Result<Box<dyn Peer>> {
    open_as(setup, true)
}

fn open_as(setup: &Setup, is_batched: bool) -> Result<Box<dyn Peer>> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let database = builder.create_with_backend(InMemoryBackend::new())?;
    let redb = Redb { database, record_bytes: setup.shape.record_bytes(), is_batched };
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
        let mut session = RedbSession { redb: self, record: vec![0; self.record_bytes] };
        if self.is_batched { work(&mut Batched(session)) } else { work(&mut session) }
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

type RecordTable<'t> = Table<'t, u64, &'static [u8]>;

#[inline]
fn read(table: &impl ReadableTable<u64, &'static [u8]>, key: u64, copy: &mut [u8]) -> Result<bool> {
    Ok(table.get(key)?.map(|record| copy_out(record.value(), copy)).is_some())
}

impl RedbSession<'_> {
    #[inline]
    fn write(&mut self, table: &mut RecordTable<'_>, key: u64, field: Field<'_>) -> Result<bool> {
        if !field.is_whole(self.record.len()) {
            let Some(found) = table.get(key)? else { return Ok(false) };
            self.record.copy_from_slice(found.value());
        }
        field.write_to(&mut self.record);
        table.insert(key, self.record.as_slice())?;
        Ok(true)
    }
}

impl Transactional for RedbSession<'_> {
    fn transact(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let mut missed = 0;
        if is_read_only(batch) {
            let table = self.redb.database.begin_read()?.open_table(RECORDS)?;
            for operation in batch {
                missed += usize::from(!read(&table, operation.key, copy)?);
                black_box(&mut *copy);
            }
            return Ok(missed);
        }
        let write = self.redb.begin_write()?;
        let mut table = write.open_table(RECORDS)?;
        for operation in batch {
            let found = if operation.kind == OperationKind::Update {
                self.write(&mut table, operation.key, Field::of(operation, values))?
            } else {
                read(&table, operation.key, copy)?
            };
            black_box(&mut *copy);
            missed += usize::from(!found);
        }
        drop(table);
        write.commit()?;
        Ok(missed)
    }
}

impl Session for RedbSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        read(&self.redb.database.begin_read()?.open_table(RECORDS)?, key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let write = self.redb.begin_write()?;
        let found = self.write(&mut write.open_table(RECORDS)?, key, field)?;
        write.commit()?;
        Ok(found)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let write = self.redb.begin_write()?;
        write.open_table(RECORDS)?.insert(key, record)?;
        Ok(write.commit()?)
    }
}
