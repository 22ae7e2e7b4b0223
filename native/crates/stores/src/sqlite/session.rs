//! One thread's connection, with everything prepared.

use assay_workload::{KeyText, Values};

use super::connection::{Connection, Row, Statement};
use crate::{Session, Shape, StoreError, Visitor};

/// Statements of one connection. They are finalised before it is closed.
pub struct SqliteSession {
    read: Statement,
    scan: Statement,
    insert: Statement,
    begin: Statement,
    commit: Statement,
    /// By field.
    updates: Vec<Statement>,
    connection: Connection,
}

impl SqliteSession {
    /// Prepares everything.
    ///
    /// # Errors
    /// Those of the library: `Failed` when the table is not there or has other columns.
    pub fn new(connection: Connection, shape: Shape) -> Result<Self, StoreError> {
        let marks = vec!["?"; shape.fields + 1].join(",");
        let columns: String = (0..shape.fields).map(|field| format!(",field{field}")).collect();
        let update = |field| format!("UPDATE usertable SET field{field}=? WHERE ycsb_key=?");
        let updates = (0..shape.fields).map(|field| connection.prepare(&update(field)));
        let scan = "SELECT * FROM usertable WHERE ycsb_key>=? ORDER BY ycsb_key LIMIT ?";
        Ok(Self {
            read: connection.prepare("SELECT * FROM usertable WHERE ycsb_key=?")?,
            scan: connection.prepare(scan)?,
            insert: connection
                .prepare(&format!("INSERT INTO usertable(ycsb_key{columns}) VALUES({marks})"))?,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            updates: updates.collect::<Result<_, _>>()?,
            connection,
        })
    }

    fn add(&mut self, key: u64, shape: Shape, values: &Values) -> Result<(), StoreError> {
        let text = KeyText::new(key);
        // SAFETY: key and values outlive the run, and are bound again before the next.
        unsafe {
            self.insert.bind_text(1, text.as_bytes());
            for field in 0..shape.fields {
                self.insert.bind_text(field + 2, values.initial(key, field));
            }
        }
        self.connection.run(&mut self.insert, |_| ())
    }
}

/// The table of a workload.
pub fn create_table(shape: Shape) -> String {
    let columns: String = (0..shape.fields).map(|field| format!(", field{field} TEXT")).collect();
    format!("CREATE TABLE usertable(ycsb_key TEXT PRIMARY KEY{columns})")
}

fn show(row: &Row<'_>, visitor: &mut dyn Visitor) {
    visitor.begin(row.text(0));
    (1..row.columns()).for_each(|column| visitor.field(row.text(column)));
    visitor.end(true);
}

impl Session for SqliteSession {
    fn read(&mut self, key: &KeyText, visitor: &mut dyn Visitor) -> Result<(), StoreError> {
        // SAFETY: the key outlives the run, and is bound again before the next.
        unsafe { self.read.bind_text(1, key.as_bytes()) };
        self.connection.run(&mut self.read, |row| show(row, visitor))
    }

    fn update(&mut self, key: &KeyText, field: usize, value: &[u8]) -> Result<bool, StoreError> {
        let Some(statement) = self.updates.get_mut(field) else {
            let what = format!("it has no field {field}");
            return Err(StoreError::Wrong { key: key.to_string(), what });
        };
        // SAFETY: value and key outlive the run, and are bound again before the next.
        unsafe {
            statement.bind_text(1, value);
            statement.bind_text(2, key.as_bytes());
        }
        self.connection.run(statement, |_| ())?;
        Ok(self.connection.changes() == 1)
    }

    fn insert(&mut self, key: u64, shape: Shape, values: &Values) -> Result<(), StoreError> {
        self.add(key, shape, values)
    }

    fn load(&mut self, keys: &[u64], shape: Shape, values: &Values) -> Result<(), StoreError> {
        self.connection.run(&mut self.begin, |_| ())?;
        keys.iter().try_for_each(|key| self.add(*key, shape, values))?;
        self.connection.run(&mut self.commit, |_| ())
    }

    fn scan(
        &mut self,
        from: &[u8],
        limit: Option<u64>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), StoreError> {
        // Below zero is no limit.
        let limit = limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        // SAFETY: the key outlives the run, and is bound again before the next.
        unsafe { self.scan.bind_text(1, from) };
        self.scan.bind_number(2, limit);
        self.connection.run(&mut self.scan, |row| show(row, visitor))
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.connection.counters()
    }
}
