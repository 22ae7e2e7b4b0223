//! Sessions over blocking clients, written to be obviously right: every value is copied.

use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};
use assay_wire::{ServerErrorKind, WireError};
use mysql::prelude::Queryable;
use postgres::types::{ToSql, Type as PostgresType};

/// A row as texts.
pub struct Texts(Vec<Option<Vec<u8>>>);

impl Row for Texts {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        let text = self.text(column)?.map(|text| String::from_utf8_lossy(text).into_owned());
        text.map(|text| text.parse().map_err(|_| wrong(&text))).transpose()
    }

    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError> {
        Ok(self.0.get(column).ok_or_else(|| wrong("no such column"))?.as_deref())
    }
}

fn wrong(what: &str) -> WireError {
    WireError::Protocol { protocol: "slow", what: what.to_owned() }
}

/// MariaDB over the crate `mysql`.
pub struct SlowMaria {
    pub client: mysql::Conn,
    prepared: Vec<mysql::Statement>,
}

impl SlowMaria {
    pub fn new(client: mysql::Conn) -> Self {
        Self { client, prepared: Vec::new() }
    }
}

impl Session for SlowMaria {
    const DIALECT: Dialect = Dialect::MySql;
    type Row<'r> = Texts;

    async fn prepare(&mut self, text: &str, _: &[Type]) -> Result<Statement, WireError> {
        self.prepared.push(self.client.prep(text).map_err(maria_error)?);
        Ok(Statement(self.prepared.len() - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Texts) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        let values: Vec<mysql::Value> = values.iter().map(maria_value).collect();
        let values = match values.len() {
            0 => mysql::Params::Empty,
            _ => mysql::Params::Positional(values),
        };
        let statement = &self.prepared[statement.0];
        let mut answer = self.client.exec_iter(statement, values).map_err(maria_error)?;
        let mut completion = Completion { rows: 0, affected: answer.affected_rows() };
        for row in answer.by_ref() {
            let values = row.map_err(maria_error)?.unwrap();
            visit(&Texts(values.into_iter().map(maria_text).collect()))?;
            completion.rows += 1;
        }
        Ok(completion)
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.client.query_drop(text).map_err(maria_error)?;
        Ok(Completion { rows: 0, affected: self.client.affected_rows() })
    }

    async fn close(self) {}
}

fn maria_value(value: &Value<'_>) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Text(text) => mysql::Value::Bytes(text.to_vec()),
    }
}

fn maria_text(value: mysql::Value) -> Option<Vec<u8>> {
    match value {
        mysql::Value::NULL => None,
        mysql::Value::Bytes(bytes) => Some(bytes),
        mysql::Value::Int(number) => Some(number.to_string().into_bytes()),
        other => panic!("a value of no workload: {other:?}"),
    }
}

fn maria_error(error: mysql::Error) -> WireError {
    let mysql::Error::MySqlError(error) = error else { return wrong(&error.to_string()) };
    let kind = match error.code {
        1213 => ServerErrorKind::Deadlock,
        1020 => ServerErrorKind::Conflict,
        1205 => ServerErrorKind::LockTimeout,
        1062 => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    };
    WireError::Server { code: error.code.to_string(), message: error.message, kind }
}

/// PostgreSQL over the crate `postgres`.
pub struct SlowPostgres {
    pub client: postgres::Client,
    prepared: Vec<postgres::Statement>,
}

impl SlowPostgres {
    pub fn new(client: postgres::Client) -> Self {
        Self { client, prepared: Vec::new() }
    }
}

impl Session for SlowPostgres {
    const DIALECT: Dialect = Dialect::Postgres;
    type Row<'r> = Texts;

    async fn prepare(&mut self, text: &str, types: &[Type]) -> Result<Statement, WireError> {
        let mut pieces = text.split('?');
        let mut numbered = pieces.next().unwrap_or_default().to_owned();
        for (index, piece) in pieces.enumerate() {
            numbered += &format!("${}{piece}", index + 1);
        }
        let type_of = |asked: &Type| match asked {
            Type::Int => PostgresType::INT8,
            Type::Text => PostgresType::TEXT,
        };
        let types: Vec<PostgresType> = types.iter().map(type_of).collect();
        let prepared = self.client.prepare_typed(&numbered, &types).map_err(postgres_error)?;
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Texts) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        let statement = &self.prepared[statement.0];
        let values: Vec<Box<dyn ToSql + Sync>> = values.iter().map(postgres_value).collect();
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value).collect();
        if statement.columns().is_empty() {
            let affected = self.client.execute(statement, &values).map_err(postgres_error)?;
            return Ok(Completion { rows: 0, affected });
        }
        let rows = self.client.query(statement, &values).map_err(postgres_error)?;
        for row in &rows {
            visit(&Texts((0..row.len()).map(|column| postgres_text(row, column)).collect()))?;
        }
        Ok(Completion { rows: rows.len() as u64, affected: 0 })
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.client.batch_execute(text).map_err(postgres_error)?;
        Ok(Completion::default())
    }

    async fn close(self) {}
}

fn postgres_value(value: &Value<'_>) -> Box<dyn ToSql + Sync> {
    match value {
        Value::Null => Box::new(None::<i64>),
        Value::Int(number) => Box::new(*number),
        Value::Text(text) => Box::new(String::from_utf8_lossy(text).into_owned()),
    }
}

fn postgres_text(row: &postgres::Row, column: usize) -> Option<Vec<u8>> {
    let kind = row.columns()[column].type_();
    if *kind == PostgresType::INT8 {
        return row.get::<_, Option<i64>>(column).map(|number| number.to_string().into_bytes());
    }
    if *kind == PostgresType::INT4 {
        return row.get::<_, Option<i32>>(column).map(|number| number.to_string().into_bytes());
    }
    row.get::<_, Option<String>>(column).map(String::into_bytes)
}

fn postgres_error(error: postgres::Error) -> WireError {
    let Some(error) = error.as_db_error() else { return wrong(&error.to_string()) };
    let kind = match error.code().code() {
        "40P01" => ServerErrorKind::Deadlock,
        "40001" => ServerErrorKind::Conflict,
        "55P03" => ServerErrorKind::LockTimeout,
        "23505" => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    };
    let (code, message) = (error.code().code().to_owned(), error.message().to_owned());
    WireError::Server { code, message, kind }
}
