//! LMDB through heed: a copy-on-write B+tree in shared memory, one writer. One operation is one
//! transaction.

use std::hint::black_box;

use anyhow::Result;
use assay_workload::{Operation, OperationKind, Values};
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, IntegerComparator, RoTxn, RwTxn};

use crate::batched::{Batched, Transactional, is_read_only};
use crate::peer::{Field, Peer, Records, Session, Setup, copy_out};

/// Address space, of which only what is written takes memory.
const MAP_BYTES: usize = 16 << 30;

struct Lmdb {
    env: Env,
    records: Database<U64<NativeEndian>, Bytes, IntegerComparator>,
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
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    let flags = EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::NO_MEM_INIT;
    // SAFETY: the folder is this environment's own, and no crash is to be survived.
    let env = unsafe { options.flags(flags).open(setup.folder)? };
    let mut write = env.write_txn()?;
    let options = env.database_options().types::<U64<NativeEndian>, Bytes>();
    let records = options.key_comparator::<IntegerComparator>().create(&mut write)?;
    write.commit()?;
    Ok(Box::new(Lmdb { env, records, record_bytes: setup.shape.record_bytes(), is_batched }))
}

impl Peer for Lmdb {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        let mut session = LmdbSession { lmdb: self, record: vec![0; self.record_bytes] };
        if self.is_batched { work(&mut Batched(session)) } else { work(&mut session) }
    }

    fn load(&self, records: &Records<'_>) -> Result<()> {
        let mut write = self.env.write_txn()?;
        records.each(|key, record| Ok(self.records.put(&mut write, &key, record)?))?;
        Ok(write.commit()?)
    }
}

struct LmdbSession<'a> {
    lmdb: &'a Lmdb,
    /// Where a record is changed before it is put back.
    record: Vec<u8>,
}

impl LmdbSession<'_> {
    #[inline]
    fn read(&self, transaction: &RoTxn<'_>, key: u64, copy: &mut [u8]) -> Result<bool> {
        let found = self.lmdb.records.get(transaction, &key)?;
        Ok(found.map(|record| copy_out(record, copy)).is_some())
    }

    #[inline]
    fn write(&mut self, write: &mut RwTxn<'_>, key: u64, field: Field<'_>) -> Result<bool> {
        if !field.is_whole(self.record.len()) {
            let Some(found) = self.lmdb.records.get(write, &key)? else { return Ok(false) };
            self.record.copy_from_slice(found);
        }
        field.write_to(&mut self.record);
        self.lmdb.records.put(write, &key, &self.record)?;
        Ok(true)
    }
}

impl Transactional for LmdbSession<'_> {
    fn transact(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let (lmdb, mut missed) = (self.lmdb, 0);
        if is_read_only(batch) {
            let read = lmdb.env.read_txn()?;
            for operation in batch {
                missed += usize::from(!self.read(&read, operation.key, copy)?);
                black_box(&mut *copy);
            }
            return Ok(missed);
        }
        let mut write = lmdb.env.write_txn()?;
        for operation in batch {
            let found = if operation.kind == OperationKind::Update {
                self.write(&mut write, operation.key, Field::of(operation, values))?
            } else {
                self.read(&write, operation.key, copy)?
            };
            black_box(&mut *copy);
            missed += usize::from(!found);
        }
        write.commit()?;
        Ok(missed)
    }
}

impl Session for LmdbSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        self.read(&self.lmdb.env.read_txn()?, key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let mut write = self.lmdb.env.write_txn()?;
        let found = self.write(&mut write, key, field)?;
        write.commit()?;
        Ok(found)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let mut write = self.lmdb.env.write_txn()?;
        self.lmdb.records.put(&mut write, &key, record)?;
        Ok(write.commit()?)
    }
}
