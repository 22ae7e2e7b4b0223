//! One thread's calls of RocksDB.

use assay_workload::{KeyText, Values};

use super::api::Handle;
use super::{RocksDb, failed, value};
use crate::{Session, Shape, StoreError, Visitor};

/// A thread's buffer, and the database that all share.
pub struct RocksSession<'a> {
    pub rocks: &'a RocksDb,
    /// Where a record is put together.
    pub record: Vec<u8>,
}

/// A value that the library keeps in its place until this ends.
struct Pinned<'a> {
    rocks: &'a RocksDb,
    slice: Handle,
}

impl Pinned<'_> {
    fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the slice is alive as long as this, and so are its bytes.
        unsafe {
            let bytes = (self.rocks.api.rocksdb_pinnableslice_value)(self.slice, &raw mut length);
            slice_of(bytes, length)
        }
    }
}

/// What the library points to; nothing where it points nowhere.
///
/// # Safety
/// Other pointers lead to so many bytes, which stay as they are while the slice is used.
unsafe fn slice_of<'a>(bytes: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if bytes.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(bytes, length) } }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // SAFETY: destroyed once.
        unsafe { (self.rocks.api.rocksdb_pinnableslice_destroy)(self.slice) };
    }
}

impl<'a> RocksSession<'a> {
    #[cold]
    fn failed(&self, reason: String) -> StoreError {
        failed(&self.rocks.folder, reason)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Pinned<'a>>, StoreError> {
        let RocksDb { api, database, read, .. } = self.rocks;
        // SAFETY: the database is open, and the key is as long as said.
        let slice = api.checked(|error| unsafe {
            (api.rocksdb_get_pinned)(database.as_ptr(), *read, key.as_ptr(), key.len(), error)
        });
        let slice = slice.map_err(|reason| self.failed(reason))?;
        Ok((!slice.is_null()).then_some(Pinned { rocks: self.rocks, slice }))
    }

    fn put(&self, key: &[u8]) -> Result<(), StoreError> {
        let RocksDb { api, database, write, .. } = self.rocks;
        let (bytes, length) = (self.record.as_ptr(), self.record.len());
        // SAFETY: the database is open, and key and record are as long as said.
        let put = api.checked(|error| unsafe {
            let (database, key_bytes) = (database.as_ptr(), key.as_ptr());
            (api.rocksdb_put)(database, *write, key_bytes, key.len(), bytes, length, error);
        });
        put.map_err(|reason| self.failed(reason))
    }

    fn scan_with(
        &self,
        iterator: Handle,
        from: &[u8],
        limit: Option<u64>,
        visitor: &mut dyn Visitor,
    ) {
        let api = self.rocks.api;
        // SAFETY: the iterator is alive; key and value are so until it is moved.
        unsafe {
            (api.rocksdb_iter_seek)(iterator, from.as_ptr(), from.len());
            let mut left = limit.unwrap_or(u64::MAX);
            while left > 0 && (api.rocksdb_iter_valid)(iterator) != 0 {
                let (mut key_bytes, mut bytes) = (0, 0);
                let key = (api.rocksdb_iter_key)(iterator, &raw mut key_bytes);
                let record = (api.rocksdb_iter_value)(iterator, &raw mut bytes);
                value::show(slice_of(key, key_bytes), slice_of(record, bytes), visitor);
                left -= 1;
                if left > 0 {
                    (api.rocksdb_iter_next)(iterator);
                }
            }
        }
    }
}

impl Session for RocksSession<'_> {
    fn read(&mut self, key: &KeyText, visitor: &mut dyn Visitor) -> Result<(), StoreError> {
        if let Some(record) = self.get(key.as_bytes())? {
            value::show(key.as_bytes(), record.bytes(), visitor);
        }
        Ok(())
    }

    fn update(&mut self, key: &KeyText, field: usize, bytes: &[u8]) -> Result<bool, StoreError> {
        let Some(record) = self.get(key.as_bytes())? else { return Ok(false) };
        self.record.clear();
        self.record.extend_from_slice(record.bytes());
        drop(record);
        if !value::replace(&mut self.record, field, bytes) {
            let what = format!("it has no field {field}");
            return Err(StoreError::Wrong { key: key.to_string(), what });
        }
        self.put(key.as_bytes())?;
        Ok(true)
    }

    fn insert(&mut self, key: u64, shape: Shape, values: &Values) -> Result<(), StoreError> {
        value::encode(key, shape, values, &mut self.record);
        self.put(KeyText::new(key).as_bytes())
    }

    fn load(&mut self, keys: &[u64], shape: Shape, values: &Values) -> Result<(), StoreError> {
        let RocksDb { api, database, load, .. } = self.rocks;
        // SAFETY: the call takes nothing.
        let batch = unsafe { (api.rocksdb_writebatch_create)() };
        for key in keys {
            value::encode(*key, shape, values, &mut self.record);
            let (text, record) = (KeyText::new(*key), &self.record);
            let text = text.as_bytes();
            // SAFETY: the batch is alive and copies what it is given, as long as said.
            unsafe {
                let (key, bytes) = (text.as_ptr(), record.as_ptr());
                (api.rocksdb_writebatch_put)(batch, key, text.len(), bytes, record.len());
            }
        }
        // SAFETY: the database is open, and the batch is alive until it is destroyed, once.
        let written = unsafe {
            let written =
                api.checked(|error| (api.rocksdb_write)(database.as_ptr(), *load, batch, error));
            (api.rocksdb_writebatch_destroy)(batch);
            written
        };
        written.map_err(|reason| self.failed(reason))
    }

    fn scan(
        &mut self,
        from: &[u8],
        limit: Option<u64>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), StoreError> {
        let RocksDb { api, database, read, .. } = self.rocks;
        // SAFETY: the database is open; the iterator is destroyed once, before it closes.
        let ended = unsafe {
            let iterator = (api.rocksdb_create_iterator)(database.as_ptr(), *read);
            self.scan_with(iterator, from, limit, visitor);
            let ended = api.checked(|error| (api.rocksdb_iter_get_error)(iterator, error));
            (api.rocksdb_iter_destroy)(iterator);
            ended
        };
        ended.map_err(|reason| self.failed(reason))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
