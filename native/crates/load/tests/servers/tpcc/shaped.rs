//! A session that notes how the columns of each statement's rows are read.

use std::collections::BTreeMap;

use assay_wire::WireError;
use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};

/// By statement: what is read of each column of its rows, once there were any.
pub type Shapes = BTreeMap<String, Vec<&'static str>>;

pub struct Shaped<S> {
    session: S,
    texts: Vec<String>,
    pub shapes: Shapes,
}

impl<S> Shaped<S> {
    pub fn new(session: S) -> Self {
        Self { session, texts: Vec::new(), shapes: Shapes::new() }
    }
}

fn kind(row: &impl Row, column: usize) -> &'static str {
    match (row.int(column), row.text(column)) {
        (Ok(Some(_)), Err(_)) => "integer",
        (Err(_), Ok(Some(_))) => "text",
        _ => "neither",
    }
}

impl<S: Session> Session for Shaped<S> {
    const DIALECT: Dialect = S::DIALECT;
    type Row<'r> = S::Row<'r>;

    async fn prepare(&mut self, text: &str, parameters: &[Type]) -> Result<Statement, WireError> {
        let statement = self.session.prepare(text, parameters).await?;
        self.texts.push(text.to_owned());
        Ok(statement)
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Self::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        let mut shape = Vec::new();
        let completion = self.session.run(statement, values, |row| {
            shape = (0..row.columns()).map(|column| kind(row, column)).collect();
            visit(row)
        });
        let completion = completion.await?;
        let known = self.shapes.entry(self.texts[statement.0].clone()).or_default();
        if completion.rows > 0 {
            *known = shape;
        }
        Ok(completion)
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.session.batch(text).await
    }

    async fn close(self) {
        self.session.close().await;
    }
}
