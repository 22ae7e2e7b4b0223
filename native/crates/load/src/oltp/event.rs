//! Running one event.

use assay_wire::sql::{Completion, Session, Value};
use assay_wire::{ServerErrorKind, WireError};
use assay_workload::oltp::{Event, Statement};

use super::error::OltpError;
use super::statements::{Control, Kind, Statements, is_lived_with};

/// What a session was asked and answered without an error, as sysbench counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// SELECT.
    pub reads: u64,
    /// UPDATE, DELETE, INSERT.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Events that ended with an error which a workload has to live with.
    pub errors: u64,
    /// Rows that SELECTs returned.
    pub rows: u64,
}

/// How an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Done,
    /// With this error of the server, and was rolled back. Goes on with the next event, whose
    /// time sysbench counts from the start of this one.
    GivenUp(ServerErrorKind),
}

/// Runs one event and adds to `counts`, also what came before an error.
///
/// # Errors
/// What a workload cannot live with, and a statement that is not prepared.
pub async fn run_event<S: Session>(
    session: &mut S,
    statements: &Statements,
    event: &Event,
    counts: &mut Counts,
) -> Result<Outcome, OltpError> {
    for statement in &event.statements {
        match run(session, statements, statement, counts).await {
            Ok(()) => {}
            Err(OltpError::Wire(WireError::Server { kind, .. }))
                if is_lived_with(S::DIALECT, kind) =>
            {
                counts.errors += 1;
                if event.statements.first() == Some(&Statement::Begin) {
                    session.batch("ROLLBACK").await?;
                    counts.others += 1;
                }
                return Ok(Outcome::GivenUp(kind));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Outcome::Done)
}

async fn run<S: Session>(
    session: &mut S,
    statements: &Statements,
    statement: &Statement,
    counts: &mut Counts,
) -> Result<(), OltpError> {
    let int = |value: u32| Value::Int(i64::from(value));
    let mut request = Request { session, statements, counts };
    match statement {
        Statement::Begin => request.control(true).await,
        Statement::Commit => request.control(false).await,
        Statement::PointSelect { table, id } => {
            request.read(Kind::Point, *table, &[int(*id)]).await
        }
        Statement::SimpleRange { table, first, last } => {
            request.read(Kind::Simple, *table, &[int(*first), int(*last)]).await
        }
        Statement::SumRange { table, first, last } => {
            request.read(Kind::Sum, *table, &[int(*first), int(*last)]).await
        }
        Statement::OrderRange { table, first, last } => {
            request.read(Kind::Order, *table, &[int(*first), int(*last)]).await
        }
        Statement::DistinctRange { table, first, last } => {
            request.read(Kind::Distinct, *table, &[int(*first), int(*last)]).await
        }
        Statement::IndexUpdate { table, id } => {
            request.write(Kind::IndexUpdate, *table, &[int(*id)]).await
        }
        Statement::NonIndexUpdate { table, id, c } => {
            request.write(Kind::NonIndexUpdate, *table, &[Value::Text(c), int(*id)]).await
        }
        Statement::Delete { table, id } => request.write(Kind::Delete, *table, &[int(*id)]).await,
        Statement::Insert { table, id, k, c, pad } => {
            let values = [int(*id), int(*k), Value::Text(c), Value::Text(pad)];
            request.write(Kind::Insert, *table, &values).await
        }
    }
}

/// One statement of an event.
struct Request<'a, S> {
    session: &'a mut S,
    statements: &'a Statements,
    counts: &'a mut Counts,
}

impl<S: Session> Request<'_, S> {
    async fn control(&mut self, is_begin: bool) -> Result<(), OltpError> {
        match (self.statements.control, is_begin) {
            (Control::Prepared { begin: statement, .. }, true)
            | (Control::Prepared { commit: statement, .. }, false) => {
                self.session.run(statement, &[], |_| Ok(())).await?
            }
            (Control::Texts, true) => self.session.batch("BEGIN").await?,
            (Control::Texts, false) => self.session.batch("COMMIT").await?,
        };
        self.counts.others += 1;
        Ok(())
    }

    async fn read(
        &mut self,
        kind: Kind,
        table: u32,
        values: &[Value<'_>],
    ) -> Result<(), OltpError> {
        self.counts.rows += self.ask(kind, table, values).await?.rows;
        self.counts.reads += 1;
        Ok(())
    }

    async fn write(
        &mut self,
        kind: Kind,
        table: u32,
        values: &[Value<'_>],
    ) -> Result<(), OltpError> {
        self.ask(kind, table, values).await?;
        self.counts.writes += 1;
        Ok(())
    }

    async fn ask(
        &mut self,
        kind: Kind,
        table: u32,
        values: &[Value<'_>],
    ) -> Result<Completion, OltpError> {
        let statement = self.statements.of(kind, table).ok_or(OltpError::Unprepared(table))?;
        Ok(self.session.run(statement, values, |_| Ok(())).await?)
    }
}
