//! The functions of SQLite that are used, as sqlite3.h declares them.

use std::ffi::{c_char, c_int, c_uchar, c_void};

use crate::library::c_interface;

/// A connection or a statement.
pub type Handle = *mut c_void;
/// Asked when a lock is taken: how often it was so before; whether to try again.
pub type OnBusy = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;

/// Result codes.
pub const OK: c_int = 0;
pub const BUSY: c_int = 5;
pub const LOCKED: c_int = 6;
pub const IO_ERROR: c_int = 10;
pub const CORRUPT: c_int = 11;
pub const FULL: c_int = 13;
pub const CANNOT_OPEN: c_int = 14;
pub const NO_DATABASE: c_int = 26;
pub const ROW: c_int = 100;
pub const DONE: c_int = 101;

/// How to open: read and write; make the file; no lock inside a connection, since each thread has one
/// of its own.
pub const OPEN_READ_WRITE: c_int = 0x2;
pub const OPEN_CREATE: c_int = 0x4;
pub const OPEN_NO_MUTEX: c_int = 0x8000;

/// Counters of a connection, by the number of `sqlite3_db_status`.
pub const STATUS: [(&str, c_int); 4] =
    [("cache.hits", 7), ("cache.misses", 8), ("cache.writes", 9), ("cache.spills", 12)];

c_interface! {
    /// SQLite's functions.
    Api for "SQLite";
    fn sqlite3_libversion() -> *const c_char;
    fn sqlite3_sourceid() -> *const c_char;
    fn sqlite3_threadsafe() -> c_int;
    fn sqlite3_open_v2(*const c_char, *mut Handle, c_int, *const c_char) -> c_int;
    fn sqlite3_close_v2(Handle) -> c_int;
    fn sqlite3_errmsg(Handle) -> *const c_char;
    fn sqlite3_extended_errcode(Handle) -> c_int;
    fn sqlite3_busy_handler(Handle, OnBusy, *mut c_void) -> c_int;
    fn sqlite3_prepare_v2(Handle, *const c_char, c_int, *mut Handle, *mut *const c_char) -> c_int;
    fn sqlite3_finalize(Handle) -> c_int;
    fn sqlite3_reset(Handle) -> c_int;
    fn sqlite3_step(Handle) -> c_int;
    fn sqlite3_bind_text(Handle, c_int, *const u8, c_int, *const c_void) -> c_int;
    fn sqlite3_bind_int64(Handle, c_int, i64) -> c_int;
    fn sqlite3_column_count(Handle) -> c_int;
    fn sqlite3_column_text(Handle, c_int) -> *const c_uchar;
    fn sqlite3_column_bytes(Handle, c_int) -> c_int;
    fn sqlite3_changes(Handle) -> c_int;
    fn sqlite3_db_status(Handle, c_int, *mut c_int, *mut c_int, c_int) -> c_int;
}
