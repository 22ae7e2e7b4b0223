//! The prepared statements of the five transactions.
//!
//! Each is prepared when it is first used, so that a session holds only what its transactions
//! need. Statements over several rows exist for a few numbers of rows only ([`padded`]): the
//! callers repeat the last row, which changes nothing in an `IN` list, a `CASE` or an `OR`. Only
//! the INSERT of order lines exists for every number. A session prepares up to 59 statements, which
//! on MySQL count against `max_prepared_stmt_count` (16,382): some 280 sessions, unless it is raised.

use assay_wire::WireError;
use assay_wire::sql::{Dialect, Session, Statement, Type};
use assay_workload::tpcc::inputs::LINES_MAX;

use crate::columns::unexpected;

/// Whose SQL, as finely as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// UPDATE and DELETE return rows.
    Postgres,
    /// DELETE returns rows.
    MariaDb,
    /// Nothing does.
    MySql,
}

impl Flavour {
    /// Asks the server, where the dialect does not say it.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn ask<S: Session>(session: &mut S) -> Result<Self, WireError> {
        if S::DIALECT == Dialect::Postgres {
            return Ok(Self::Postgres);
        }
        let mut flavour = Self::MySql;
        let statement = session.prepare("SELECT VERSION()", &[]).await?;
        let visit = |row: &S::Row<'_>| {
            let version = assay_wire::sql::Row::text(row, 0)?.unwrap_or_default();
            if version.windows(7).any(|word| word == b"MariaDB") {
                flavour = Self::MariaDb;
            }
            Ok(())
        };
        session.run(statement, &[], visit).await?;
        Ok(flavour)
    }
}

/// The numbers of rows that statements are prepared for.
const SIZES: [usize; 4] = [1, 5, 10, LINES_MAX];

/// The least of the prepared numbers of rows that is not below `count`.
pub fn padded(count: usize) -> usize {
    SIZES.into_iter().find(|size| *size >= count).unwrap_or(LINES_MAX)
}

/// A statement by what it does. Numbers in brackets are rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// Locks a district: next order, tax. In PostgreSQL also takes the number.
    OrderNumber,
    /// Takes the number, where `OrderNumber` does not.
    NextOrder,
    /// The warehouse's tax, and the customer.
    Buyer,
    /// Items by number.
    Items(usize),
    /// Locks stock of one warehouse.
    Stock(usize),
    /// Changes it.
    TakeStock(usize),
    /// Adds to ORDER.
    AddOrder,
    /// Adds to NEW-ORDER.
    AddNewOrder,
    /// Adds to ORDER-LINE.
    AddLines(usize),
    /// Adds to W_YTD.
    PayWarehouse,
    /// Adds to D_YTD.
    PayDistrict,
    /// Takes from a customer's balance.
    PayCustomer,
    /// What a payment shows, where the three before return nothing.
    Payment,
    /// Adds to HISTORY.
    AddHistory,
    /// The last sequence of a writer of HISTORY.
    LastHistory,
    /// The customers of one last name in the order of their first names.
    Named,
    /// A customer.
    Customer,
    /// The last order of a customer.
    LastOrder,
    /// The lines of an order.
    Lines,
    /// The oldest new order of a district: removes it, or locks it in MySQL.
    OldestNewOrder,
    /// Removes it, where `OldestNewOrder` does not.
    RemoveNewOrder,
    /// Gives orders their carrier.
    Carry(usize),
    /// Whose orders they are, where `Carry` does not say it.
    Carried(usize),
    /// Gives lines of orders their date.
    DeliverLines(usize),
    /// What the lines cost, where `DeliverLines` does not say it.
    LineSums(usize),
    /// Adds what was delivered to the customers' balances.
    DeliverTo(usize),
    /// The next order of a district.
    Recent,
    /// Items of recent orders that are low.
    LowStock,
}

/// Statements that do not depend on a number of rows.
const SINGLE: [Query; 19] = [
    Query::OrderNumber,
    Query::NextOrder,
    Query::Buyer,
    Query::AddOrder,
    Query::AddNewOrder,
    Query::PayWarehouse,
    Query::PayDistrict,
    Query::PayCustomer,
    Query::Payment,
    Query::AddHistory,
    Query::Named,
    Query::Customer,
    Query::LastOrder,
    Query::Lines,
    Query::OldestNewOrder,
    Query::RemoveNewOrder,
    Query::Recent,
    Query::LowStock,
    Query::LastHistory,
];
/// Those that exist for each of [`SIZES`].
const SIZED: [fn(usize) -> Query; 8] = [
    Query::Items,
    Query::Stock,
    Query::TakeStock,
    Query::Carry,
    Query::Carried,
    Query::DeliverLines,
    Query::LineSums,
    Query::DeliverTo,
];
const QUERIES: usize = SINGLE.len() + SIZED.len() * SIZES.len() + LINES_MAX;

/// Every statement, once.
pub(super) fn all() -> impl Iterator<Item = Query> {
    let sized = SIZED.into_iter().flat_map(|query| SIZES.map(query));
    SINGLE.into_iter().chain(sized).chain((1..=LINES_MAX).map(Query::AddLines))
}

impl Query {
    /// Its place in [`all`].
    fn slot(self) -> usize {
        let sized = |kind: usize, rows: usize| {
            let size = SIZES.iter().position(|size| *size >= rows).unwrap_or(SIZES.len() - 1);
            SINGLE.len() + kind * SIZES.len() + size
        };
        match self {
            Self::OrderNumber => 0,
            Self::NextOrder => 1,
            Self::Buyer => 2,
            Self::AddOrder => 3,
            Self::AddNewOrder => 4,
            Self::PayWarehouse => 5,
            Self::PayDistrict => 6,
            Self::PayCustomer => 7,
            Self::Payment => 8,
            Self::AddHistory => 9,
            Self::Named => 10,
            Self::Customer => 11,
            Self::LastOrder => 12,
            Self::Lines => 13,
            Self::OldestNewOrder => 14,
            Self::RemoveNewOrder => 15,
            Self::Recent => 16,
            Self::LowStock => 17,
            Self::LastHistory => 18,
            Self::Items(rows) => sized(0, rows),
            Self::Stock(rows) => sized(1, rows),
            Self::TakeStock(rows) => sized(2, rows),
            Self::Carry(rows) => sized(3, rows),
            Self::Carried(rows) => sized(4, rows),
            Self::DeliverLines(rows) => sized(5, rows),
            Self::LineSums(rows) => sized(6, rows),
            Self::DeliverTo(rows) => sized(7, rows),
            Self::AddLines(rows) => QUERIES - LINES_MAX + rows - 1,
        }
    }
}

/// What a session has prepared. A byte for each statement: there are thousands of sessions.
pub struct Statements {
    flavour: Flavour,
    prepared: [u8; QUERIES],
}

const NOT_PREPARED: u8 = u8::MAX;

impl Statements {
    /// Nothing prepared yet.
    pub fn new(flavour: Flavour) -> Self {
        Self { flavour, prepared: [NOT_PREPARED; QUERIES] }
    }

    /// Whose SQL it is.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// A statement, prepared now if it is the first time.
    ///
    /// # Errors
    /// Any of the session; `Protocol` when over 254 others were prepared in it.
    pub async fn get<S: Session>(
        &mut self,
        session: &mut S,
        query: Query,
    ) -> Result<Statement, WireError> {
        let slot = query.slot();
        if self.prepared[slot] != NOT_PREPARED {
            return Ok(Statement(usize::from(self.prepared[slot])));
        }
        let (text, types) = typed(&super::texts::text(query, self.flavour));
        let statement = session.prepare(&text, &types).await?;
        let number = u8::try_from(statement.0).ok().filter(|number| *number != NOT_PREPARED);
        let too_many = || unexpected("a session that has prepared over 254 statements".to_owned());
        self.prepared[slot] = number.ok_or_else(too_many)?;
        Ok(statement)
    }
}

/// A template with `?` for integers and `@` for texts, as a text with `?` and its types.
pub(super) fn typed(template: &str) -> (String, Vec<Type>) {
    let types = template.chars().filter_map(|letter| match letter {
        '?' => Some(Type::Int),
        '@' => Some(Type::Text),
        _ => None,
    });
    (template.replace('@', "?"), types.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_are_rounded_up_to_the_prepared_ones() {
        let sizes = [1, 2, 5, 6, 10, 11, 15].map(padded);
        assert_eq!(sizes, [1, 5, 5, 10, 10, 15, 15]);
    }

    #[test]
    fn every_statement_has_a_slot_of_its_own() {
        let slots: Vec<_> = all().map(Query::slot).collect();
        assert_eq!(slots, (0..QUERIES).collect::<Vec<_>>());
    }

    #[test]
    fn texts_and_integers_are_told_apart_in_their_order() {
        let (text, types) = typed("SELECT ? WHERE a = @ AND b = ?");
        assert_eq!(text, "SELECT ? WHERE a = ? AND b = ?");
        assert_eq!(types, [Type::Int, Type::Text, Type::Int]);
    }
}
