//! The functions of RocksDB's C interface that are used, as rocksdb/c.h declares them: the same in
//! 7.8 and in 11.8.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};

use crate::library::c_interface;

/// Every opaque type of the library.
pub type Handle = *mut c_void;
/// Where a function puts its error: null, or a text that the caller frees.
pub type Error = *mut *mut c_char;

c_interface! {
    /// RocksDB's functions, by their own names.
    #[allow(non_snake_case)]
    Api for "RocksDB";
    fn rocksdb_free(*mut c_void);
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_destroy(Handle);
    fn rocksdb_options_set_create_if_missing(Handle, c_uchar);
    fn rocksdb_get_options_from_string(Handle, *const c_char, Handle, Error);
    fn rocksdb_block_based_options_create() -> Handle;
    fn rocksdb_block_based_options_destroy(Handle);
    fn rocksdb_block_based_options_set_block_cache(Handle, Handle);
    fn rocksdb_options_set_block_based_table_factory(Handle, Handle);
    fn rocksdb_cache_create_lru(usize) -> Handle;
    fn rocksdb_cache_destroy(Handle);
    fn rocksdb_options_set_row_cache(Handle, Handle);
    fn rocksdb_options_set_memtable_vector_rep(Handle);
    fn rocksdb_options_set_hash_skip_list_rep(Handle, usize, i32, i32);
    fn rocksdb_options_set_hash_link_list_rep(Handle, usize);
    fn rocksdb_options_enable_statistics(Handle);
    fn rocksdb_options_statistics_get_string(Handle) -> *mut c_char;
    fn rocksdb_open(Handle, *const c_char, Error) -> Handle;
    fn rocksdb_close(Handle);
    fn rocksdb_readoptions_create() -> Handle;
    fn rocksdb_readoptions_destroy(Handle);
    fn rocksdb_readoptions_set_verify_checksums(Handle, c_uchar);
    fn rocksdb_readoptions_set_total_order_seek(Handle, c_uchar);
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_writeoptions_destroy(Handle);
    fn rocksdb_writeoptions_set_sync(Handle, c_uchar);
    fn rocksdb_writeoptions_disable_WAL(Handle, c_int);
    fn rocksdb_get_pinned(Handle, Handle, *const u8, usize, Error) -> Handle;
    fn rocksdb_pinnableslice_value(Handle, *mut usize) -> *const u8;
    fn rocksdb_pinnableslice_destroy(Handle);
    fn rocksdb_put(Handle, Handle, *const u8, usize, *const u8, usize, Error);
    fn rocksdb_writebatch_create() -> Handle;
    fn rocksdb_writebatch_destroy(Handle);
    fn rocksdb_writebatch_put(Handle, *const u8, usize, *const u8, usize);
    fn rocksdb_write(Handle, Handle, Handle, Error);
    fn rocksdb_create_iterator(Handle, Handle) -> Handle;
    fn rocksdb_iter_destroy(Handle);
    fn rocksdb_iter_seek(Handle, *const u8, usize);
    fn rocksdb_iter_valid(Handle) -> c_uchar;
    fn rocksdb_iter_next(Handle);
    fn rocksdb_iter_key(Handle, *mut usize) -> *const u8;
    fn rocksdb_iter_value(Handle, *mut usize) -> *const u8;
    fn rocksdb_iter_get_error(Handle, Error);
    fn rocksdb_flushoptions_create() -> Handle;
    fn rocksdb_flushoptions_destroy(Handle);
    fn rocksdb_flush(Handle, Handle, Error);
    fn rocksdb_compact_range(Handle, *const u8, usize, *const u8, usize);
    fn rocksdb_property_value(Handle, *const c_char) -> *mut c_char;
    optional fn rocksdb_cache_create_hyper_clock(usize, usize) -> Handle;
    optional fn rocksdb_options_set_statistics_level(Handle, c_int);
    optional fn rocksdb_options_get_statistics_level(Handle) -> c_int;
}

impl Api {
    /// Calls a function that reports failure by a text.
    ///
    /// # Errors
    /// The text.
    pub fn checked<T>(&self, call: impl FnOnce(Error) -> T) -> Result<T, String> {
        let mut error: *mut c_char = std::ptr::null_mut();
        let found = call(&raw mut error);
        // SAFETY: the text is the library's, and nobody else has it.
        match unsafe { self.take_text(error) } {
            Some(text) => Err(text),
            None => Ok(found),
        }
    }

    /// Copies a text that the library has made, and frees it; none for null.
    ///
    /// # Safety
    /// It must be null or a terminated text that the library has given away.
    pub unsafe fn take_text(&self, text: *mut c_char) -> Option<String> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the caller vouches for the text.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: freed once, after the copy.
        unsafe { (self.rocksdb_free)(text.cast()) };
        Some(copy)
    }
}
