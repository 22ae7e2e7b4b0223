//! The actions over a session with an SQL server.
//!
//! Each does what `assay_workload::trade_desk::procedures` does, and returns the same outcome.

mod trade;

use assay_wire::sql::{Completion, Session, Value};
use assay_wire::{ServerErrorKind, WireError};
use assay_workload::trade_desk::rows::{self, CANCELLED, OPEN};
use assay_workload::trade_desk::{Input, Outcome, Placement};

use super::DeskError;
use super::statements::{CREATE_TEMPORARY, Query, Statements, drop_temporary};
use crate::columns::{int as int_of, sum, unexpected};

/// How an action ended without an error that ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is committed; a refusal is too.
    Committed(Outcome),
    /// It was given up because of others and rolled back. It may be tried again with the same
    /// input. Beside what the server says, `Conflict` is an order that was to be taken back and
    /// was filled meanwhile.
    Conflict(ServerErrorKind),
}

/// A session that carries out the actions of the desk, one after the other.
pub struct Desk<S> {
    session: S,
    statements: Statements,
    /// Whether a transaction was begun that has not ended.
    is_open: bool,
}

impl<S: Session> Desk<S> {
    /// Takes over a session and prepares.
    ///
    /// # Errors
    /// Any of the session; one of the server when the desk was not loaded.
    pub async fn new(mut session: S) -> Result<Self, WireError> {
        let statements = Statements::prepare(&mut session).await?;
        Ok(Self { session, statements, is_open: false })
    }

    /// The session.
    pub fn session_mut(&mut self) -> &mut S {
        &mut self.session
    }

    /// The session, which goes on without this.
    pub fn into_session(self) -> S {
        self.session
    }

    /// The last sequence that a user's orders and trades have used; 0 when there are none.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn last_sequence(&mut self, user: u16) -> Result<u32, WireError> {
        let [first, end] = [rows::own(user, 0), rows::own(user, 0) + (1 << u32::BITS)];
        let values = [int(first as i64), int(end as i64), int(first as i64), int(end as i64)];
        let mut last = 0;
        self.ask(Query::Used, &values, |row| {
            // The lower half of a number is its sequence.
            last = (sum(row, 0)? as u32).max(sum(row, 1)? as u32);
            Ok(())
        })
        .await?;
        Ok(last)
    }

    /// Carries out one action to its end.
    ///
    /// # Errors
    /// What trying again does not help. After `RowMissing` and `Wire` with `Server` the transaction
    /// was rolled back and the session goes on; after any other it is of no use any more.
    pub async fn run(&mut self, input: &Input) -> Result<Ending, DeskError> {
        match self.act(input).await {
            Ok(ending) => Ok(ending),
            Err(error) => self.give_up(error).await,
        }
    }

    async fn act(&mut self, input: &Input) -> Result<Ending, DeskError> {
        let outcome = match *input {
            Input::PlaceOrder(placement) => self.place(placement).await?,
            Input::Trade { account, instrument, own } => {
                self.trade(account, instrument, rows::own(own.0, own.1) as i64).await?
            }
            Input::Cancel { account } => return self.cancel(account).await,
            Input::Portfolio { account } => self.portfolio(account).await?,
            Input::Depth { instrument } => self.depth(instrument).await?,
            Input::CreateTemporary { .. } => {
                self.session.batch(CREATE_TEMPORARY).await?;
                Outcome::Done
            }
            Input::DropTemporary { .. } => {
                self.session.batch(drop_temporary(S::DIALECT)).await?;
                Outcome::Done
            }
            // Not asked of servers: its rows are in no table of the desk.
            Input::Report => Outcome::Done,
        };
        Ok(Ending::Committed(outcome))
    }

    async fn begin(&mut self) -> Result<(), WireError> {
        self.session.batch("BEGIN").await?;
        self.is_open = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), WireError> {
        self.session.batch("COMMIT").await?;
        self.is_open = false;
        Ok(())
    }

    /// Rolls back, which some servers have done already after some errors, and says why.
    async fn give_up(&mut self, error: DeskError) -> Result<Ending, DeskError> {
        let conflict = match &error {
            DeskError::Wire(WireError::Server { kind, .. }) if kind.is_transient() => Some(*kind),
            // A ROLLBACK could wait for ever.
            DeskError::Wire(other) if !matches!(other, WireError::Server { .. }) => {
                return Err(error);
            }
            DeskError::Wire(_) | DeskError::RowMissing { .. } => None,
        };
        if std::mem::take(&mut self.is_open) {
            self.session.batch("ROLLBACK").await?;
        }
        conflict.map(Ending::Conflict).ok_or(error)
    }

    /// Runs a statement and visits its rows.
    async fn ask(
        &mut self,
        query: Query,
        values: &[Value<'_>],
        visit: impl FnMut(&S::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.session.run(self.statements.get(query), values, visit).await
    }

    /// Changes rows that must be there: so many.
    async fn change(
        &mut self,
        query: Query,
        values: &[Value<'_>],
        rows: u64,
    ) -> Result<(), WireError> {
        let changed = self.ask(query, values, |_| Ok(())).await?.affected;
        if changed != rows {
            return Err(unexpected(format!("{query:?} has changed {changed} rows, not {rows}")));
        }
        Ok(())
    }

    async fn place(&mut self, placement: Placement) -> Result<Outcome, DeskError> {
        let Placement { account, instrument, is_sell, quantity, distance_e4, own } = placement;
        let values = [int(distance_e4), int(instrument), int(account), int(instrument)];
        let (query, values) =
            if is_sell { (Query::Seller, &values[..]) } else { (Query::Buyer, &values[..3]) };
        let mut found = None;
        self.ask(query, values, |row| {
            found = Some((int_of(row, 0)?, int_of(row, 1)?));
            Ok(())
        })
        .await?;
        let (price_cents, has) = found.ok_or_else(|| missing(account, instrument))?;
        let takes = if is_sell { quantity } else { price_cents * quantity };
        if has < takes {
            return Ok(Outcome::Refused);
        }
        let id = rows::own(own.0, own.1);
        self.begin().await?;
        let order = [
            int(id as i64),
            int(account),
            int(instrument),
            int(is_sell),
            int(price_cents),
            int(quantity),
        ];
        self.change(Query::AddOrder, &order, 1).await?;
        let open = [int(instrument), int(place_of(id as i64)), int(id as i64)];
        self.change(Query::Open, &open, 1).await?;
        self.commit().await?;
        Ok(Outcome::Done)
    }

    async fn cancel(&mut self, account: u32) -> Result<Ending, DeskError> {
        let mut newest = None;
        self.ask(Query::Recent, &[int(account)], |row| {
            if newest.is_none() && int_of(row, 2)? == i64::from(OPEN) {
                newest = Some((int_of(row, 0)?, int_of(row, 1)?));
            }
            Ok(())
        })
        .await?;
        let Some((id, instrument)) = newest else {
            return Ok(Ending::Committed(Outcome::Refused));
        };
        self.begin().await?;
        let place = [int(instrument), int(place_of(id))];
        if self.ask(Query::Close, &place, |_| Ok(())).await?.affected == 0 {
            self.session.batch("ROLLBACK").await?;
            self.is_open = false;
            return Ok(Ending::Conflict(ServerErrorKind::Conflict));
        }
        self.change(Query::Mark, &[int(CANCELLED), int(0), int(id)], 1).await?;
        self.commit().await?;
        Ok(Ending::Committed(Outcome::Done))
    }

    async fn portfolio(&mut self, account: u32) -> Result<Outcome, DeskError> {
        let mut worth = None;
        self.ask(Query::Worth, &[int(account), int(account)], |row| {
            worth = Some(int_of(row, 0)?);
            Ok(())
        })
        .await?;
        let key = || format!("({account})");
        let cents =
            worth.ok_or_else(|| DeskError::RowMissing { table: "desk_cash", key: key() })?;
        Ok(Outcome::Worth { cents })
    }

    async fn depth(&mut self, instrument: u16) -> Result<Outcome, DeskError> {
        let (mut buy, mut sell) = (0, 0);
        self.ask(Query::Depth, &[int(instrument)], |row| {
            (buy, sell) = (sum(row, 0)?, sum(row, 1)?);
            Ok(())
        })
        .await?;
        Ok(Outcome::Depth { buy, sell })
    }
}

/// Where an order stands among the open ones of its instrument.
fn place_of(id: i64) -> i64 {
    rows::open_order(0, id as u64) as i64
}

fn missing(account: u32, instrument: u16) -> DeskError {
    let table = "desk_cash, desk_position or desk_quote";
    DeskError::RowMissing { table, key: format!("of account {account}, instrument {instrument}") }
}

fn int<'v>(number: impl Into<i64>) -> Value<'v> {
    Value::Int(number.into())
}
