//! RocksDB from the system's library, through a few lines of its C interface: a log-structured
//! merge tree with background threads. An operation on one key is atomic; its transactions over
//! several keys are not used.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::ptr::{NonNull, null_mut};

use anyhow::{Context, Result, bail};

use crate::peer::{Field, Peer, Session, Setup, copy_out};
use crate::stripes::Stripes;

/// Larger than the data: no block is read twice.
const BLOCK_CACHE_MIB: u64 = 2048;
const WRITE_BUFFER_BYTES: usize = 256 << 20;
const NO_COMPRESSION: c_int = 0;

/// Every opaque type of the library.
type Handle = *mut c_void;

// As rocksdb/c.h of 7.8 declares them.
#[link(name = "rocksdb")]
unsafe extern "C" {
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_destroy(options: Handle);
    fn rocksdb_options_set_create_if_missing(options: Handle, is_on: c_uchar);
    fn rocksdb_options_optimize_for_point_lookup(options: Handle, block_cache_mib: u64);
    fn rocksdb_options_set_write_buffer_size(options: Handle, bytes: usize);
    fn rocksdb_options_set_compression(options: Handle, kind: c_int);
    fn rocksdb_open(options: Handle, name: *const c_char, error: *mut *mut c_char) -> Handle;
    fn rocksdb_close(database: Handle);
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_writeoptions_disable_WAL(options: Handle, is_off: c_int);
    fn rocksdb_writeoptions_destroy(options: Handle);
    fn rocksdb_readoptions_create() -> Handle;
    fn rocksdb_readoptions_set_verify_checksums(options: Handle, is_on: c_uchar);
    fn rocksdb_readoptions_destroy(options: Handle);
    #[rustfmt::skip]
    fn rocksdb_put(
        database: Handle,
        options: Handle,
        key: *const u8,
        key_bytes: usize,
        value: *const u8,
        value_bytes: usize,
        error: *mut *mut c_char,
    );
    #[rustfmt::skip]
    fn rocksdb_get_pinned(
        database: Handle,
        options: Handle,
        key: *const u8,
        key_bytes: usize,
        error: *mut *mut c_char,
    ) -> Handle;
    fn rocksdb_pinnableslice_value(slice: Handle, bytes: *mut usize) -> *const u8;
    fn rocksdb_pinnableslice_destroy(slice: Handle);
    fn rocksdb_free(memory: *mut c_void);
}

struct RocksDb {
    database: NonNull<c_void>,
    write: Handle,
    read: Handle,
    stripes: Stripes,
    record_bytes: usize,
}

// SAFETY: a database may be used by any number of threads, and options are only read.
unsafe impl Sync for RocksDb {}

/// An empty database.
pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    let name = CString::new(setup.folder.join("rocksdb").as_os_str().as_encoded_bytes())?;
    // SAFETY: every handle is used by its own kind of function, and options outlive the opening.
    let (database, write, read) = unsafe {
        let options = rocksdb_options_create();
        rocksdb_options_set_create_if_missing(options, 1);
        rocksdb_options_optimize_for_point_lookup(options, BLOCK_CACHE_MIB);
        rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
        rocksdb_options_set_compression(options, NO_COMPRESSION);
        let database = checked(|error| rocksdb_open(options, name.as_ptr(), error));
        rocksdb_options_destroy(options);
        let write = rocksdb_writeoptions_create();
        rocksdb_writeoptions_disable_WAL(write, 1);
        let read = rocksdb_readoptions_create();
        rocksdb_readoptions_set_verify_checksums(read, 0);
        (database?, write, read)
    };
    let database = NonNull::new(database).context("RocksDB gave no database and no error")?;
    let record_bytes = setup.shape.record_bytes();
    Ok(Box::new(RocksDb { database, write, read, stripes: Stripes::new(), record_bytes }))
}

/// Calls a function of the library that reports failure by a text which the caller frees.
fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error: *mut c_char = null_mut();
    let found = call(&mut error);
    if error.is_null() {
        return Ok(found);
    }
    // SAFETY: the library sets a terminated text of its own allocator.
    let text = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
    // SAFETY: freed once, after the copy above.
    unsafe { rocksdb_free(error.cast()) };
    bail!("RocksDB: {text}")
}

impl RocksDb {
    fn get(&self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let (key, database) = (key.to_be_bytes(), self.database.as_ptr());
        // SAFETY: the database is open, and the key is as long as said.
        let slice = checked(|error| unsafe {
            rocksdb_get_pinned(database, self.read, key.as_ptr(), key.len(), error)
        })?;
        if slice.is_null() {
            return Ok(false);
        }
        let mut bytes = 0;
        // SAFETY: the value lies in the slice until that is destroyed, once, here.
        unsafe {
            let value = rocksdb_pinnableslice_value(slice, &mut bytes);
            copy_out(std::slice::from_raw_parts(value, bytes), copy);
            rocksdb_pinnableslice_destroy(slice);
            Ok(true)
        }
    }

    fn put(&self, key: u64, record: &[u8]) -> Result<()> {
        let (key, database) = (key.to_be_bytes(), self.database.as_ptr());
        // SAFETY: the database is open, and key and record are as long as said.
        checked(|error| unsafe {
            let (value, bytes) = (record.as_ptr(), record.len());
            rocksdb_put(database, self.write, key.as_ptr(), key.len(), value, bytes, error);
        })
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: sessions borrow the database, so none is left.
        unsafe {
            rocksdb_close(self.database.as_ptr());
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_readoptions_destroy(self.read);
        }
    }
}

impl Peer for RocksDb {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        work(&mut RocksSession { rocks: self, record: vec![0; self.record_bytes] })
    }
}

struct RocksSession<'a> {
    rocks: &'a RocksDb,
    /// Where a record is changed before it is put back.
    record: Vec<u8>,
}

impl Session for RocksSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        self.rocks.get(key, copy)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        if field.is_whole(self.record.len()) {
            self.rocks.put(key, field.bytes)?;
            return Ok(true);
        }
        let _lock = self.rocks.stripes.lock(key);
        if !self.rocks.get(key, &mut self.record)? {
            return Ok(false);
        }
        field.write_to(&mut self.record);
        self.rocks.put(key, &self.record)?;
        Ok(true)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        self.rocks.put(key, record)
    }
}
