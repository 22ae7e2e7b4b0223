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

/// Places in the list of prepared statements: kind times this plus rows.
const ROWS: usize = LINES_MAX + 1;
const KINDS: usize = 27;

impl Query {
    fn slot(self) -> usize {
        let (kind, rows) = match self {
            Self::OrderNumber => (0, 0),
            Self::NextOrder => (1, 0),
            Self::Buyer => (2, 0),
            Self::Items(rows) => (3, rows),
            Self::Stock(rows) => (4, rows),
            Self::TakeStock(rows) => (5, rows),
            Self::AddOrder => (6, 0),
            Self::AddNewOrder => (7, 0),
            Self::AddLines(rows) => (8, rows),
            Self::PayWarehouse => (9, 0),
            Self::PayDistrict => (10, 0),
            Self::PayCustomer => (11, 0),
            Self::Payment => (12, 0),
            Self::AddHistory => (13, 0),
            Self::Named => (14, 0),
            Self::Customer => (15, 0),
            Self::LastOrder => (16, 0),
            Self::Lines => (17, 0),
            Self::OldestNewOrder => (18, 0),
            Self::RemoveNewOrder => (19, 0),
            Self::Carry(rows) => (20, rows),
            Self::Carried(rows) => (21, rows),
            Self::DeliverLines(rows) => (22, rows),
            Self::LineSums(rows) => (23, rows),
            Self::DeliverTo(rows) => (24, rows),
            Self::Recent => (25, 0),
            Self::LowStock => (26, 0),
        };
        kind * ROWS + rows
    }
}

/// What a session has prepared.
pub struct Statements {
    flavour: Flavour,
    prepared: Vec<Option<Statement>>,
}

impl Statements {
    /// Nothing prepared yet.
    pub fn new(flavour: Flavour) -> Self {
        Self { flavour, prepared: vec![None; KINDS * ROWS] }
    }

    /// Whose SQL it is.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// A statement, prepared now if it is the first time.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn get<S: Session>(
        &mut self,
        session: &mut S,
        query: Query,
    ) -> Result<Statement, WireError> {
        let slot = query.slot();
        if let Some(statement) = self.prepared[slot] {
            return Ok(statement);
        }
        let (text, types) = typed(&super::texts::text(query, self.flavour));
        let statement = session.prepare(&text, &types).await?;
        self.prepared[slot] = Some(statement);
        Ok(statement)
    }
}

/// A template with `?` for integers and `@` for texts, as a text with `?` and its types.
fn typed(template: &str) -> (String, Vec<Type>) {
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
    fn texts_and_integers_are_told_apart_in_their_order() {
        let (text, types) = typed("SELECT ? WHERE a = @ AND b = ?");
        assert_eq!(text, "SELECT ? WHERE a = ? AND b = ?");
        assert_eq!(types, [Type::Int, Type::Text, Type::Int]);
    }
}
