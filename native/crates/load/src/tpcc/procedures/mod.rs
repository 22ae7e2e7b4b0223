//! The five transactions over a session with an SQL server.
//!
//! Each does what `assay_workload::tpcc::procedures` does, and returns the same outcome. All columns
//! that a terminal shows are asked for and arrive, though only what tests compare is looked at.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

use std::sync::LazyLock;

use assay_wire::sql::{Completion, Session, Value};
use assay_wire::{ServerErrorKind, WireError};
use assay_workload::tpcc::draws::last_name;
use assay_workload::tpcc::inputs::CustomerChoice;
use assay_workload::tpcc::procedures::middle;
use assay_workload::tpcc::scale::NAMES;
use assay_workload::tpcc::{Input, Outcome};

use super::TpccError;
use super::statements::{Flavour, Query, Statements};
use crate::columns::{begin_snapshot, narrow, sum};

/// Every last name, by its number.
static LAST_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| (0..NAMES).map(last_name).collect());

/// How a transaction ended without an error that ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is committed.
    Committed(Outcome),
    /// It rolled back as its input demands: a New-Order with an unused item. Not to be tried again.
    RolledBack,
    /// The server gave it up because of others (deadlock, conflict, lock timeout); it was rolled
    /// back and may be tried again with the same input.
    Conflict(ServerErrorKind),
}

/// Why a procedure did not get to its end.
enum Abort {
    Requested,
    Failed(TpccError),
}

impl From<WireError> for Abort {
    fn from(error: WireError) -> Self {
        Self::Failed(error.into())
    }
}

/// A session that runs TPC-C's transactions, one after the other.
pub struct Terminal<S> {
    session: S,
    statements: Statements,
    /// Kept for its memory: the numbers of customers of one name.
    found: Vec<u16>,
    /// Kept for its memory: a text for HISTORY or C_DATA.
    text: Vec<u8>,
}

impl<S: Session> Terminal<S> {
    /// Takes over a session; asks a MySQL session which server it is.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn new(mut session: S) -> Result<Self, TpccError> {
        let flavour = Flavour::ask(&mut session).await?;
        let statements = Statements::new(flavour);
        Ok(Self { session, statements, found: Vec::new(), text: Vec::new() })
    }

    /// The session.
    pub fn session_mut(&mut self) -> &mut S {
        &mut self.session
    }

    /// The session, which goes on without this.
    pub fn into_session(self) -> S {
        self.session
    }

    /// The last sequence of a thread's rows in HISTORY; 0 when there are none.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn last_history(&mut self, thread: usize) -> Result<u64, TpccError> {
        let statement = self.statements.get(&mut self.session, Query::LastHistory).await?;
        // Writer 0 is who has loaded.
        let writer = Value::Int(thread as i64 + 1);
        let mut last = 0;
        let visit = |row: &S::Row<'_>| {
            last = sum(row, 0)?;
            Ok(())
        };
        self.session.run(statement, &[writer], visit).await?;
        Ok(u64::try_from(last).unwrap_or(0))
    }

    /// Runs one transaction from BEGIN to its end.
    ///
    /// # Errors
    /// What trying again does not help. After `RowMissing` and `Wire` with `Server` the transaction
    /// was rolled back and the session goes on; after any other it is of no use any more.
    pub async fn run(&mut self, input: &Input) -> Result<Ending, TpccError> {
        self.begin(input).await?;
        let ended = match input {
            Input::NewOrder(input) => self.new_order(input).await.map(Outcome::NewOrder),
            Input::Payment(input) => self.payment(input).await.map(Outcome::Payment),
            Input::OrderStatus(input) => self.order_status(input).await.map(Outcome::OrderStatus),
            Input::Delivery(input) => self.delivery(input).await.map(Outcome::Delivery),
            Input::StockLevel(input) => self.stock_level(input).await.map(Outcome::StockLevel),
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(abort) => return self.give_up(abort).await,
        };
        match self.session.batch("COMMIT").await {
            Ok(_) => Ok(Ending::Committed(outcome)),
            Err(error) => self.give_up(error.into()).await,
        }
    }

    async fn begin(&mut self, input: &Input) -> Result<(), WireError> {
        match input {
            Input::OrderStatus(_) | Input::StockLevel(_) => begin_snapshot(&mut self.session).await,
            Input::NewOrder(_) | Input::Payment(_) | Input::Delivery(_) => {
                self.session.batch("BEGIN").await.map(drop)
            }
        }
    }

    /// Rolls back, which some servers have done already after some errors, and says why.
    async fn give_up(&mut self, abort: Abort) -> Result<Ending, TpccError> {
        let (ending, error) = match abort {
            Abort::Requested => (Ending::RolledBack, None),
            Abort::Failed(TpccError::Wire(WireError::Server { kind, .. }))
                if kind.is_transient() =>
            {
                (Ending::Conflict(kind), None)
            }
            Abort::Failed(error) if is_over(&error) => return Err(error),
            Abort::Failed(error) => (Ending::RolledBack, Some(error)),
        };
        let rolled_back = self.session.batch("ROLLBACK").await;
        if let Some(error) = error {
            return Err(error);
        }
        rolled_back?;
        Ok(ending)
    }

    /// Runs a statement and visits its rows.
    async fn ask(
        &mut self,
        query: Query,
        values: &[Value<'_>],
        visit: impl FnMut(&S::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        let statement = self.statements.get(&mut self.session, query).await?;
        self.session.run(statement, values, visit).await
    }

    /// Runs a statement whose rows, if it has any, only have to arrive.
    async fn tell(&mut self, query: Query, values: &[Value<'_>]) -> Result<Completion, WireError> {
        self.ask(query, values, |_| Ok(())).await
    }

    /// Whether UPDATE returns rows.
    fn is_returning(&self) -> bool {
        self.statements.flavour() == Flavour::Postgres
    }

    /// The number of the chosen customer: by last name the middle one (clause 2.5.2.2).
    async fn customer_number(
        &mut self,
        warehouse: u16,
        district: u8,
        choice: CustomerChoice,
    ) -> Result<u16, Abort> {
        let name = match choice {
            CustomerChoice::Number(number) => return Ok(number),
            CustomerChoice::LastName(name) => name,
        };
        let last = LAST_NAMES.get(usize::from(name)).map_or("", String::as_str);
        let values = [int(warehouse), int(district), Value::Text(last.as_bytes())];
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let asked = self.ask(Query::Named, &values, |row| {
            found.push(narrow(row, 0)?);
            Ok(())
        });
        let asked = asked.await;
        let number = found.get(middle(found.len())).copied();
        self.found = found;
        asked?;
        let key = || format!("({warehouse}, {district}, last name {last})");
        number.ok_or_else(|| missing("customer", key()))
    }
}

/// Whether the session is of no use any more: a ROLLBACK could wait for ever.
fn is_over(error: &TpccError) -> bool {
    matches!(error, TpccError::Wire(error) if !matches!(error, WireError::Server { .. }))
}

fn missing(table: &'static str, key: String) -> Abort {
    Abort::Failed(TpccError::RowMissing { table, key })
}

fn int<'v>(number: impl Into<i64>) -> Value<'v> {
    Value::Int(number.into())
}

/// The parameters of a statement over several rows, without allocation.
struct Values<'v, const MOST: usize> {
    list: [Value<'v>; MOST],
    count: usize,
}

impl<'v, const MOST: usize> Values<'v, MOST> {
    fn new() -> Self {
        Self { list: [Value::Null; MOST], count: 0 }
    }

    /// Adds one. `MOST` is chosen so that there is room; the server would refuse a list cut short.
    fn push(&mut self, value: Value<'v>) {
        debug_assert!(self.count < MOST, "more than {MOST} parameters");
        if let Some(place) = self.list.get_mut(self.count) {
            *place = value;
            self.count += 1;
        }
    }

    fn push_int(&mut self, number: impl Into<i64>) {
        self.push(Value::Int(number.into()));
    }

    fn as_slice(&self) -> &[Value<'v>] {
        &self.list[..self.count]
    }
}

/// The elements, and the last one again and again up to `length`.
fn repeat_last<T>(elements: &[T], length: usize) -> impl Iterator<Item = &T> {
    let again = elements.last().into_iter().cycle();
    elements.iter().chain(again).take(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_last_name_is_another() {
        let mut names = LAST_NAMES.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), usize::from(NAMES));
    }

    #[test]
    fn the_last_element_is_repeated_as_often_as_is_missing() {
        let repeated: Vec<i32> = repeat_last(&[1, 2], 4).copied().collect();
        assert_eq!(repeated, [1, 2, 2, 2]);
    }
}
