//! Running one operation.

use assay_wire::WireError;
use assay_wire::sql::{Row, Session, Value};
use assay_workload::values::is_whole;
use assay_workload::{Operation, OperationKind, Stream};

use super::statements::Statements;
use crate::ycsb::{KeyText, YcsbError};

/// What is checked of records that come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Key, number of fields, and that every field is one whole value: about 100 ns a record.
    Values,
    /// That there is one, as YCSB does.
    Presence,
}

/// Runs one operation of `stream` and returns the records read. A read-modify-write is two
/// statements, each its own transaction, and one operation to whoever measures. An insert is
/// acknowledged to the stream however it ends, as YCSB does: the window of outstanding inserts
/// would fill up otherwise.
///
/// # Errors
/// `Wire` of the session; `Missing` and `Wrong` for what came back.
pub async fn run<S: Session>(
    session: &mut S,
    statements: &Statements,
    stream: &Stream,
    operation: &Operation,
    verify: Verify,
) -> Result<u64, YcsbError> {
    let key = KeyText::new(operation.key);
    let mut request = Request { session, statements, stream, verify, key };
    match operation.kind {
        OperationKind::Read => request.read().await,
        OperationKind::Update => request.update(operation).await.map(|()| 0),
        OperationKind::Insert => {
            let inserted = request.insert(operation.key).await;
            stream.acknowledge(operation);
            inserted.map(|()| 0)
        }
        OperationKind::Scan => request.scan(operation.length).await,
        OperationKind::ReadModifyWrite => {
            let records = request.read().await?;
            request.update(operation).await?;
            Ok(records)
        }
    }
}

struct Request<'a, S> {
    session: &'a mut S,
    statements: &'a Statements,
    stream: &'a Stream,
    verify: Verify,
    key: KeyText,
}

impl<S: Session> Request<'_, S> {
    async fn read(&mut self) -> Result<u64, YcsbError> {
        let mut check = self.check();
        let values = [Value::Text(self.key.as_bytes())];
        let visit = |row: &S::Row<'_>| check.record(row);
        let records = self.session.run(self.statements.read, &values, visit).await?.rows;
        let seen = check.end(records)?;
        if records > 1 {
            Err(self.wrong(format!("{records} records have this key")))
        } else {
            Ok(seen)
        }
    }

    async fn scan(&mut self, length: u16) -> Result<u64, YcsbError> {
        let mut check = self.check();
        let values = [Value::Text(self.key.as_bytes()), Value::Int(i64::from(length))];
        let visit = |row: &S::Row<'_>| check.record(row);
        let records = self.session.run(self.statements.scan, &values, visit).await?.rows;
        let seen = check.end(records)?;
        if records > u64::from(length) {
            return Err(self.wrong(format!("a scan of {length} returned {records} records")));
        }
        Ok(seen)
    }

    async fn update(&mut self, operation: &Operation) -> Result<(), YcsbError> {
        let value = Value::Text(self.stream.value(operation));
        let Some(statement) = self.statements.updates.get(usize::from(operation.field)) else {
            return Err(self.wrong(format!("it has no field {}", operation.field)));
        };
        let values = [value, Value::Text(self.key.as_bytes())];
        self.session.run(*statement, &values, |_| Ok(())).await?;
        Ok(())
    }

    async fn insert(&mut self, key: u64) -> Result<(), YcsbError> {
        // On the stack: an insert is on the hot path. 255 fields are the most there can be.
        let mut values = [Value::Null; 256];
        let columns = self.statements.updates.len() + 1;
        values[0] = Value::Text(self.key.as_bytes());
        for (field, value) in values[1..columns].iter_mut().enumerate() {
            *value = Value::Text(self.stream.values().initial(key, field));
        }
        self.session.run(self.statements.insert, &values[..columns], |_| Ok(())).await?;
        Ok(())
    }

    fn check(&self) -> Check {
        Check {
            key: self.key,
            columns: self.statements.updates.len() + 1,
            verify: self.verify,
            is_first: true,
            wrong: None,
        }
    }

    #[cold]
    fn wrong(&self, what: String) -> YcsbError {
        YcsbError::Wrong { key: self.key.to_string(), what }
    }
}

/// Looks at the records of one answer, and remembers the first that is wrong.
struct Check {
    key: KeyText,
    columns: usize,
    verify: Verify,
    is_first: bool,
    wrong: Option<String>,
}

impl Check {
    fn record(&mut self, row: &impl Row) -> Result<(), WireError> {
        if self.verify == Verify::Presence || self.wrong.is_some() {
            return Ok(());
        }
        // The record that a scan starts from exists, so it comes first.
        let is_asked = !self.is_first || row.text(0)? == Some(self.key.as_bytes());
        self.is_first = false;
        if !is_asked {
            self.wrong = Some("another key came back".to_owned());
        }
        if row.columns() != self.columns {
            self.wrong = Some(format!("{} columns instead of {}", row.columns(), self.columns));
            return Ok(());
        }
        for column in 1..self.columns {
            if !row.text(column)?.is_some_and(is_whole) {
                self.wrong = Some(format!("field {} is no whole value", column - 1));
            }
        }
        Ok(())
    }

    fn end(self, records: u64) -> Result<u64, YcsbError> {
        let key = || self.key.to_string();
        match self.wrong {
            _ if records == 0 => Err(YcsbError::Missing { key: key() }),
            Some(ref what) => Err(YcsbError::Wrong { key: key(), what: what.clone() }),
            None => Ok(records),
        }
    }
}
