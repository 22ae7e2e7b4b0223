//! How SQLite is opened, for both races: in memory, nothing to sync, nothing shared.

use rusqlite::{Connection, OpenFlags};

/// A connection to a database of its own, without a mutex, since one thread at a time uses it.
pub fn open() -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_in_memory_with_flags(flags)?;
    connection.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(connection)
}
