//! LMDB through heed: a copy-on-write B+tree in shared memory, one writer. One operation is one
//! transaction.

use anyhow::Result;
use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, IntegerComparator};

use crate::peer::{Field, Peer, Records, Session, Setup, copy_out};

/// Address space, of which only what is written takes memory.
const MAP_BYTES: usize = 16 << 30;

struct Lmdb {
    env: Env,
    records: Database<U64<NativeEndian>, Bytes, IntegerComparator>,
    record_bytes: usize,
}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    let flags = EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::NO_MEM_INIT;
    // SAFETY: the folder is this environment's own, and no crash is to be survived.
    let env = unsafe { options.flags(flags).open(setup.folder)? };
    let mut write = env.write_txn()?;
    let options = env.database_options().types::<U64<NativeEndian>, Bytes>();
    let records = options.key_comparator::<IntegerComparator>().create(&mut write)?;
    write.commit()?;
    Ok(Box::new(Lmdb { env, records, record_bytes: setup.shape.record_bytes() }))
}

impl Peer for Lmdb {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut LmdbSession { lmdb: self, record: vec![0; self.record_bytes] })
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

impl Session for LmdbSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let read = self.lmdb.env.read_txn()?;
        let found = self.lmdb.records.get(&read, &key)?;
        Ok(found.map(|record| copy_out(record, copy)).is_some())
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let mut write = self.lmdb.env.write_txn()?;
        if !field.is_whole(self.record.len()) {
            let Some(found) = self.lmdb.records.get(&write, &key)? else { return Ok(false) };
            self.record.copy_from_slice(found);
        }
        field.write_to(&mut self.record);
        self.lmdb.records.put(&mut write, &key, &self.record)?;
        write.commit()?;
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let mut write = self.lmdb.env.write_txn()?;
        self.lmdb.records.put(&mut write, &key, record)?;
        Ok(write.commit()?)
    }
}
