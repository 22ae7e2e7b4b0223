//! SQLite in memory: one connection, statements prepared once. One operation is one transaction,
//! because a statement outside of BEGIN is one.
//!
//! A field is a column, so that an update is one statement. The key is the row id.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use assay_workload::{Operation, Values};
use rusqlite::{Connection, Statement, ToSql, params};

use crate::batched::{Batched, Transactional};
use crate::peer::{Field, Peer, Records, Session, Setup, Shape};
use crate::sqlite_memory;

struct Sqlite {
    connection: Mutex<Connection>,
    shape: Shape,
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
    let connection = sqlite_memory::open()?;
    let columns: Vec<String> =
        (0..setup.shape.fields).map(|field| format!("f{field} BLOB NOT NULL")).collect();
    let columns = columns.join(", ");
    connection
        .execute_batch(&format!("CREATE TABLE records (key INTEGER PRIMARY KEY, {columns})"))?;
    Ok(Box::new(Sqlite { connection: Mutex::new(connection), shape: setup.shape, is_batched }))
}

impl Peer for Sqlite {
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = SqliteSession::new(&connection, self.shape)?;
        if self.is_batched { work(&mut Batched(session)) } else { work(&mut session) }
    }

    fn load(&self, records: &Records<'_>) -> Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = SqliteSession::new(&connection, self.shape)?;
        connection.execute_batch("BEGIN")?;
        records.each(|key, record| session.insert(key, record))?;
        Ok(connection.execute_batch("COMMIT")?)
    }
}

struct SqliteSession<'a> {
    select: Statement<'a>,
    updates: Vec<Statement<'a>>,
    insert: Statement<'a>,
    begin: Statement<'a>,
    commit: Statement<'a>,
    field_bytes: usize,
}

impl<'a> SqliteSession<'a> {
    fn new(connection: &'a Connection, shape: Shape) -> Result<Self> {
        let columns: Vec<String> = (0..shape.fields).map(|field| format!("f{field}")).collect();
        let update = |column| format!("UPDATE records SET {column} = ?2 WHERE key = ?1");
        let updates: rusqlite::Result<_> =
            columns.iter().map(|column| connection.prepare(&update(column))).collect();
        let marks = vec!["?"; 1 + shape.fields].join(", ");
        let select = format!("SELECT {} FROM records WHERE key = ?1", columns.join(", "));
        Ok(Self {
            select: connection.prepare(&select)?,
            updates: updates?,
            insert: connection.prepare(&format!("INSERT INTO records VALUES ({marks})"))?,
            begin: connection.prepare("BEGIN")?,
            commit: connection.prepare("COMMIT")?,
            field_bytes: shape.field_bytes,
        })
    }
}

impl Transactional for SqliteSession<'_> {
    fn transact(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let mut missed = 0;
        self.begin.execute([])?;
        for operation in batch {
            missed += usize::from(!self.operate(operation, values, copy)?);
        }
        self.commit.execute([])?;
        Ok(missed)
    }
}

impl Session for SqliteSession<'_> {
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool> {
        let mut rows = self.select.query(params![key.cast_signed()])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        for (column, field) in copy.chunks_exact_mut(self.field_bytes).enumerate() {
            field.copy_from_slice(row.get_ref(column)?.as_blob()?);
        }
        Ok(true)
    }

    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool> {
        let update = &mut self.updates[field.number];
        Ok(update.execute(params![key.cast_signed(), field.bytes])? == 1)
    }

    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()> {
        let key = key.cast_signed();
        let fields: Vec<&[u8]> = record.chunks_exact(self.field_bytes).collect();
        let mut values: Vec<&dyn ToSql> = vec![&key];
        values.extend(fields.iter().map(|field| field as &dyn ToSql));
        self.insert.execute(values.as_slice())?;
        Ok(())
    }
}
