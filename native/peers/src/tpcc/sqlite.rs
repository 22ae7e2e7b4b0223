//! TPC-C's tables in SQLite: a row is a key and a blob, and every statement is prepared once.
//!
//! Keys are unsigned and SQLite's are signed; turning the top bit over keeps their order.

use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{AbortCause, Direction, TableId, Tables};
use assay_workload::tpcc::{Census, Input, Plan, TABLES, run};
use rusqlite::{Connection, Statement, params};

use super::{Store, Terminal, load};
use crate::sqlite_memory;

/// A database in memory with one connection.
pub struct SqliteStore(Mutex<Connection>);

impl SqliteStore {
    /// A database with all of the plan's rows.
    pub fn open(plan: &Plan) -> Result<Box<dyn Store>> {
        let connection = sqlite_memory::open()?;
        for schema in &TABLES {
            let (name, columns) = (schema.name, "(key INTEGER PRIMARY KEY, row BLOB NOT NULL)");
            connection.execute_batch(&format!("CREATE TABLE \"{name}\" {columns}"))?;
        }
        connection.execute_batch("BEGIN")?;
        let mut tables = SqliteTables::new(&connection)?;
        let mut outcome = Ok(());
        load(plan, |table, key, row| {
            if outcome.is_ok() {
                outcome = tables.insert(table, key, row);
            }
        });
        drop(tables);
        outcome?;
        connection.execute_batch("COMMIT")?;
        Ok(Box::new(Self(Mutex::new(connection))))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for SqliteStore {
    fn terminals_max(&self) -> usize {
        1
    }

    fn with_terminal(&self, work: &mut dyn FnMut(&mut dyn Terminal) -> Result<()>) -> Result<()> {
        let connection = self.connection();
        work(&mut SqliteTerminal {
            tables: SqliteTables::new(&connection)?,
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            rollback: connection.prepare("ROLLBACK")?,
        })
    }

    fn census(&self) -> Result<Census> {
        let connection = self.connection();
        Ok(Census::read(&mut SqliteTables::new(&connection)?)?)
    }

    fn rows(&self) -> Result<ReferenceTables> {
        let (connection, mut found) = (self.connection(), ReferenceTables::new(&TABLES));
        let mut tables = SqliteTables::new(&connection)?;
        for schema in &TABLES {
            let mut add = |key, row: &[u8]| found.load(schema.id, key, row);
            tables.scan(schema.id, 0..=u64::MAX, Direction::Forward, usize::MAX, &mut add)?;
        }
        Ok(found)
    }
}

struct SqliteTerminal<'a> {
    tables: SqliteTables<'a>,
    begin: Statement<'a>,
    commit: Statement<'a>,
    rollback: Statement<'a>,
}

impl Terminal for SqliteTerminal<'_> {
    fn run(&mut self, input: &Input) -> Result<()> {
        self.begin.execute([])?;
        match run(&mut self.tables, input) {
            Ok(_) => self.commit.execute([])?,
            Err(SqliteAbort::Requested) => self.rollback.execute([])?,
            Err(other) => bail!(other),
        };
        Ok(())
    }
}

/// Why a transaction ended early.
#[derive(Debug)]
enum SqliteAbort {
    /// The procedure asked for it.
    Requested,
    /// A row that must exist does not.
    RowMissing { table: &'static str, key: u64 },
    /// SQLite's own.
    Sqlite(rusqlite::Error),
}

impl std::fmt::Display for SqliteAbort {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Requested => formatter.write_str("rolled back as the input demands"),
            Self::RowMissing { table, key } => write!(formatter, "{table} has no row {key:#x}"),
            Self::Sqlite(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for SqliteAbort {}

impl From<rusqlite::Error> for SqliteAbort {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

struct TableStatements<'a> {
    name: &'static str,
    read: Statement<'a>,
    write: Statement<'a>,
    insert: Statement<'a>,
    delete: Statement<'a>,
    forward: Statement<'a>,
    backward: Statement<'a>,
}

impl<'a> TableStatements<'a> {
    fn new(connection: &'a Connection, name: &'static str) -> rusqlite::Result<Self> {
        let range = format!("SELECT key, row FROM \"{name}\" WHERE key BETWEEN ?1 AND ?2");
        let prepare = |text: &str| connection.prepare(text);
        Ok(Self {
            name,
            read: prepare(&format!("SELECT row FROM \"{name}\" WHERE key = ?1"))?,
            write: prepare(&format!("UPDATE \"{name}\" SET row = ?2 WHERE key = ?1"))?,
            insert: prepare(&format!("INSERT INTO \"{name}\" VALUES (?1, ?2)"))?,
            delete: prepare(&format!("DELETE FROM \"{name}\" WHERE key = ?1"))?,
            forward: prepare(&format!("{range} ORDER BY key LIMIT ?3"))?,
            backward: prepare(&format!("{range} ORDER BY key DESC LIMIT ?3"))?,
        })
    }
}

struct SqliteTables<'a>(Vec<TableStatements<'a>>);

fn signed(key: u64) -> i64 {
    (key ^ 1 << 63).cast_signed()
}

fn unsigned(key: i64) -> u64 {
    key.cast_unsigned() ^ 1 << 63
}

impl<'a> SqliteTables<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let statements = TABLES.iter().map(|schema| TableStatements::new(connection, schema.name));
        Ok(Self(statements.collect::<rusqlite::Result<_>>()?))
    }

    fn table(&mut self, table: TableId) -> &mut TableStatements<'a> {
        &mut self.0[usize::from(table.0)]
    }

    fn missing(&mut self, table: TableId, key: u64) -> SqliteAbort {
        SqliteAbort::RowMissing { table: self.table(table).name, key }
    }
}

impl Tables for SqliteTables<'_> {
    type Abort = SqliteAbort;

    fn abort(&mut self, cause: AbortCause) -> SqliteAbort {
        match cause {
            AbortCause::Requested => SqliteAbort::Requested,
            AbortCause::RowMissing { table, key } => self.missing(table, key),
        }
    }

    fn read(&mut self, table: TableId, key: u64, row: &mut [u8]) -> Result<bool, SqliteAbort> {
        let mut rows = self.table(table).read.query(params![signed(key)])?;
        let Some(found) = rows.next()? else { return Ok(false) };
        row.copy_from_slice(found.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?);
        Ok(true)
    }

    fn write(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), SqliteAbort> {
        match self.table(table).write.execute(params![signed(key), row])? {
            0 => Err(self.missing(table, key)),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, table: TableId, key: u64, row: &[u8]) -> Result<(), SqliteAbort> {
        self.table(table).insert.execute(params![signed(key), row])?;
        Ok(())
    }

    fn delete(&mut self, table: TableId, key: u64) -> Result<(), SqliteAbort> {
        match self.table(table).delete.execute(params![signed(key)])? {
            0 => Err(self.missing(table, key)),
            _ => Ok(()),
        }
    }

    fn scan(
        &mut self,
        table: TableId,
        keys: RangeInclusive<u64>,
        direction: Direction,
        limit: usize,
        mut visit: impl FnMut(u64, &[u8]),
    ) -> Result<(), SqliteAbort> {
        let table = self.table(table);
        let statement = match direction {
            Direction::Forward => &mut table.forward,
            Direction::Backward => &mut table.backward,
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows =
            statement.query(params![signed(*keys.start()), signed(*keys.end()), limit])?;
        while let Some(found) = rows.next()? {
            let row = found.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            visit(unsigned(found.get(0)?), row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_keys_keep_the_order_of_unsigned_ones() {
        let keys = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX];
        assert!(keys.windows(2).all(|pair| signed(pair[0]) < signed(pair[1])));
        assert!(keys.iter().all(|&key| unsigned(signed(key)) == key));
    }
}
