//! A slow session over another client's library, to test the lowering without our own sessions.

use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};
use assay_wire::{ServerErrorKind, WireError};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params};

pub struct SlowMySql {
    connection: Conn,
    statements: Vec<mysql::Statement>,
    /// Requests that were sent.
    pub trips: u64,
}

impl SlowMySql {
    pub fn open(port: u16, database: &str) -> Self {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .prefer_socket(false)
            .user(Some("assay"))
            .stmt_cache_size(Some(0))
            .db_name(Some(database));
        Self { connection: Conn::new(options).unwrap(), statements: Vec::new(), trips: 0 }
    }
}

fn failed(error: mysql::Error) -> WireError {
    let mysql::Error::MySqlError(said) = error else {
        return WireError::Protocol { protocol: "MySQL", what: error.to_string() };
    };
    let kind = match said.code {
        1213 => ServerErrorKind::Deadlock,
        1020 => ServerErrorKind::Conflict,
        1205 => ServerErrorKind::LockTimeout,
        1062 => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    };
    WireError::Server { code: said.code.to_string(), message: said.message, kind }
}

pub struct MySqlRow<'r>(&'r mysql::Row);

impl Row for MySqlRow<'_> {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        Ok(match self.0.as_ref(column).unwrap() {
            mysql::Value::NULL => None,
            mysql::Value::Int(number) => Some(*number),
            mysql::Value::UInt(number) => Some(*number as i64),
            // A decimal.
            mysql::Value::Bytes(text) => Some(str::from_utf8(text).unwrap().parse().unwrap()),
            other => panic!("column {column} is {other:?}"),
        })
    }

    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError> {
        Ok(match self.0.as_ref(column).unwrap() {
            mysql::Value::NULL => None,
            mysql::Value::Bytes(text) => Some(text),
            other => panic!("column {column} is {other:?}"),
        })
    }
}

impl Session for SlowMySql {
    const DIALECT: Dialect = Dialect::MySql;
    type Row<'r> = MySqlRow<'r>;

    async fn prepare(&mut self, text: &str, _: &[Type]) -> Result<Statement, WireError> {
        let statement = self.connection.prep(text).map_err(failed)?;
        self.statements.push(statement);
        Ok(Statement(self.statements.len() - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&MySqlRow<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.trips += 1;
        let values = values.iter().map(|value| match value {
            Value::Null => mysql::Value::NULL,
            Value::Int(number) => mysql::Value::Int(*number),
            Value::Text(text) => mysql::Value::Bytes(text.to_vec()),
        });
        let parameters = match values.collect::<Vec<_>>() {
            values if values.is_empty() => Params::Empty,
            values => Params::Positional(values),
        };
        let statement = &self.statements[statement.0];
        let rows: Vec<mysql::Row> = self.connection.exec(statement, parameters).map_err(failed)?;
        for row in &rows {
            visit(&MySqlRow(row))?;
        }
        let affected = self.connection.affected_rows();
        Ok(Completion { rows: rows.len() as u64, affected })
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.trips += 1;
        self.connection.query_drop(text).map_err(failed)?;
        Ok(Completion { rows: 0, affected: self.connection.affected_rows() })
    }

    async fn close(self) {}
}
