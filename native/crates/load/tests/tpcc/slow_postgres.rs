//! A slow session over another client's library, to test the lowering without our own sessions.

use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};
use assay_wire::{ServerErrorKind, WireError};
use postgres::types as pg;
use postgres::{Client, NoTls};

type Failure = Box<dyn std::error::Error + Sync + Send>;

pub struct SlowPostgres {
    client: Client,
    statements: Vec<postgres::Statement>,
    /// Requests that were sent.
    pub trips: u64,
}

impl SlowPostgres {
    pub fn open(port: u16, database: &str) -> Self {
        let text = format!("host=127.0.0.1 port={port} user=assay dbname={database}");
        let client = Client::connect(&text, NoTls).unwrap();
        Self { client, statements: Vec::new(), trips: 0 }
    }
}

fn failed(error: postgres::Error) -> WireError {
    let Some(said) = error.as_db_error() else {
        return WireError::Protocol { protocol: "PostgreSQL", what: error.to_string() };
    };
    let kind = match said.code().code() {
        "40P01" => ServerErrorKind::Deadlock,
        "40001" => ServerErrorKind::Conflict,
        "55P03" => ServerErrorKind::LockTimeout,
        "23505" => ServerErrorKind::DuplicateKey,
        _ => ServerErrorKind::Other,
    };
    let (code, message) = (said.code().code().to_owned(), said.message().to_owned());
    WireError::Server { code, message, kind }
}

#[derive(Debug)]
struct Parameter<'v>(Value<'v>);

impl pg::ToSql for Parameter<'_> {
    fn to_sql(&self, _: &pg::Type, out: &mut pg::private::BytesMut) -> Result<pg::IsNull, Failure> {
        match self.0 {
            Value::Null => return Ok(pg::IsNull::Yes),
            Value::Int(number) => out.extend_from_slice(&number.to_be_bytes()),
            Value::Text(text) => out.extend_from_slice(text),
        }
        Ok(pg::IsNull::No)
    }

    fn accepts(_: &pg::Type) -> bool {
        true
    }

    pg::to_sql_checked!();
}

/// A value as it came.
struct Raw<'r>(pg::Type, &'r [u8]);

impl<'r> pg::FromSql<'r> for Raw<'r> {
    fn from_sql(kind: &pg::Type, raw: &'r [u8]) -> Result<Self, Failure> {
        Ok(Self(kind.clone(), raw))
    }

    fn accepts(_: &pg::Type) -> bool {
        true
    }
}

/// A numeric without fraction: its digits to the base 10,000.
fn numeric(raw: &[u8]) -> i64 {
    let word = |place: usize| i16::from_be_bytes([raw[2 * place], raw[2 * place + 1]]);
    let (digits, weight, sign) = (word(0), word(1), word(2));
    let value = (0..=weight).fold(0, |value: i64, place| {
        value * 10_000 + if place < digits { i64::from(word(4 + place as usize)) } else { 0 }
    });
    if sign == 0x4000 { -value } else { value }
}

pub struct PostgresRow<'r>(&'r postgres::Row);

impl Row for PostgresRow<'_> {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        let found: Option<Raw<'_>> = self.0.try_get(column).map_err(failed)?;
        Ok(found.map(|Raw(kind, raw)| match kind {
            pg::Type::INT2 => i16::from_be_bytes(raw.try_into().unwrap()).into(),
            pg::Type::INT4 => i32::from_be_bytes(raw.try_into().unwrap()).into(),
            pg::Type::INT8 => i64::from_be_bytes(raw.try_into().unwrap()),
            pg::Type::NUMERIC => numeric(raw),
            _ => panic!("column {column} is no integer"),
        }))
    }

    fn text(&self, column: usize) -> Result<Option<&[u8]>, WireError> {
        let found: Option<Raw<'_>> = self.0.try_get(column).map_err(failed)?;
        Ok(found.map(|Raw(_, raw)| raw))
    }
}

impl Session for SlowPostgres {
    const DIALECT: Dialect = Dialect::Postgres;
    type Row<'r> = PostgresRow<'r>;

    async fn prepare(&mut self, text: &str, types: &[Type]) -> Result<Statement, WireError> {
        let mut numbered = String::new();
        for (place, part) in text.split('?').enumerate() {
            if place > 0 {
                numbered.push_str(&format!("${place}"));
            }
            numbered.push_str(part);
        }
        let types: Vec<_> = types
            .iter()
            .map(|kind| match kind {
                Type::Int => pg::Type::INT8,
                Type::Text => pg::Type::TEXT,
            })
            .collect();
        let statement = self.client.prepare_typed(&numbered, &types).map_err(failed)?;
        self.statements.push(statement);
        Ok(Statement(self.statements.len() - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&PostgresRow<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.trips += 1;
        let parameters: Vec<_> = values.iter().map(|value| Parameter(*value)).collect();
        let parameters: Vec<&(dyn pg::ToSql + Sync)> =
            parameters.iter().map(|parameter| parameter as _).collect();
        let statement = &self.statements[statement.0];
        let rows = self.client.query(statement, &parameters).map_err(failed)?;
        for row in &rows {
            visit(&PostgresRow(row))?;
        }
        Ok(Completion { rows: rows.len() as u64, affected: 0 })
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.trips += 1;
        self.client.batch_execute(text).map_err(failed)?;
        Ok(Completion::default())
    }

    async fn close(self) {}
}
