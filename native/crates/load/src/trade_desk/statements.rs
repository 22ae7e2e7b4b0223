//! The prepared statements. All are prepared when a session begins; on MySQL they count against
//! `max_prepared_stmt_count` (16,382), which is enough for some thousand sessions.

use assay_wire::WireError;
use assay_wire::sql::{Dialect, Session, Statement, Type};
use assay_workload::trade_desk::rows::OPEN;

/// A statement by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// The price of an order that is to buy, and the cash of its account.
    Buyer,
    /// The price of an order that is to sell, and the holding of its account.
    Seller,
    /// Adds an order.
    AddOrder,
    /// Adds it to the open ones of its instrument.
    Open,
    /// Locks the oldest open order of an instrument, and shows the order.
    Oldest,
    /// Locks and shows cash and holdings of two accounts.
    Accounts,
    /// Takes an order out of the open ones.
    Close,
    /// Changes an order's state and trade.
    Mark,
    /// Adds a trade.
    AddTrade,
    /// Adds both of its legs.
    AddLegs,
    /// Moves the instrument.
    Deliver,
    /// Moves the cash.
    Pay,
    /// Sets an instrument's last price and adds to its volume.
    Tick,
    /// The last orders of an account.
    Recent,
    /// What an account has.
    Worth,
    /// The oldest open orders of an instrument, added up.
    Depth,
    /// The last sequence that a user has used.
    Used,
}

const COUNT: usize = 17;

impl Query {
    /// Every statement, in the order of the discriminants.
    const ALL: [Self; COUNT] = [
        Self::Buyer,
        Self::Seller,
        Self::AddOrder,
        Self::Open,
        Self::Oldest,
        Self::Accounts,
        Self::Close,
        Self::Mark,
        Self::AddTrade,
        Self::AddLegs,
        Self::Deliver,
        Self::Pay,
        Self::Tick,
        Self::Recent,
        Self::Worth,
        Self::Depth,
        Self::Used,
    ];
}

/// Orders of an account that a cancellation looks through, and open ones that a depth adds up: as
/// in the workload.
const CANCEL_LIMIT: usize = assay_workload::trade_desk::procedures::CANCEL_LIMIT;
const DEPTH_LIMIT: usize = assay_workload::trade_desk::procedures::DEPTH_LIMIT;

/// The text of a statement, with `?` for integers.
fn text(query: Query, dialect: Dialect) -> String {
    let is_mysql = dialect == Dialect::MySql;
    // Both cut the fraction off, as Rust does. `/` of MySQL would keep it.
    let divide = if is_mysql { "DIV" } else { "/" };
    let price = format!("GREATEST(q_last + (q_last * ?) {divide} 10000, 1)");
    // Locks are taken in this order only if MySQL does not choose another.
    let then = if is_mysql { "STRAIGHT_JOIN" } else { "JOIN" };
    match query {
        Query::Buyer => format!(
            "SELECT {price}, c_balance FROM desk_quote, desk_cash \
             WHERE q_instrument = ? AND c_account = ?"
        ),
        Query::Seller => format!(
            "SELECT {price}, h_quantity FROM desk_quote, desk_position \
             WHERE q_instrument = ? AND h_account = ? AND h_instrument = ?"
        ),
        Query::AddOrder => format!(
            "INSERT INTO desk_order (o_id, o_account, o_instrument, o_is_sell, o_price, \
             o_quantity, o_state, o_trade) VALUES (?, ?, ?, ?, ?, ?, {OPEN}, 0)"
        ),
        Query::Open => "INSERT INTO desk_open_order (p_instrument, p_place, p_order) \
                        VALUES (?, ?, ?)"
            .to_owned(),
        Query::Oldest => format!(
            "SELECT p_place, o_id, o_account, o_is_sell, o_price, o_quantity \
             FROM desk_open_order {then} desk_order ON o_id = p_order \
             WHERE p_instrument = ? ORDER BY p_place LIMIT 1 FOR UPDATE"
        ),
        Query::Accounts => format!(
            "SELECT c_account, c_balance, h_quantity FROM desk_cash {then} desk_position \
             ON h_account = c_account AND h_instrument = ? \
             WHERE c_account IN (?, ?) ORDER BY c_account FOR UPDATE"
        ),
        Query::Recent => format!(
            "SELECT o_id, o_instrument, o_state FROM desk_order WHERE o_account = ? \
             ORDER BY o_id DESC LIMIT {CANCEL_LIMIT}"
        ),
        Query::Worth => "SELECT c_balance + (SELECT COALESCE(SUM(h_quantity * q_last), 0) \
                         FROM desk_position JOIN desk_quote ON q_instrument = h_instrument \
                         WHERE h_account = ?) FROM desk_cash WHERE c_account = ?"
            .to_owned(),
        // Each order is looked up. A join would be planned while there are few, as one that reads
        // all of them, and stay so.
        Query::Depth => format!(
            "SELECT SUM(CASE WHEN delta > 0 THEN delta ELSE 0 END), \
             SUM(CASE WHEN delta < 0 THEN -delta ELSE 0 END) FROM (SELECT \
             (SELECT CASE WHEN o_is_sell = 0 THEN o_quantity ELSE -o_quantity END \
             FROM desk_order WHERE o_id = p_order) AS delta \
             FROM desk_open_order WHERE p_instrument = ? \
             ORDER BY p_place LIMIT {DEPTH_LIMIT}) oldest"
        ),
        _ => change(query),
    }
}

/// Those of a trade that change rows, and the last sequence.
fn change(query: Query) -> String {
    match query {
        Query::Close => "DELETE FROM desk_open_order WHERE p_instrument = ? AND p_place = ?",
        Query::Mark => "UPDATE desk_order SET o_state = ?, o_trade = ? WHERE o_id = ?",
        Query::AddTrade => {
            "INSERT INTO desk_trade (t_id, t_order, t_price, t_quantity) VALUES (?, ?, ?, ?)"
        }
        Query::AddLegs => {
            "INSERT INTO desk_leg (l_trade, l_side, l_account, l_instrument, l_cash, l_quantity) \
             VALUES (?, 0, ?, ?, ?, ?), (?, 1, ?, ?, ?, ?)"
        }
        Query::Deliver => {
            "UPDATE desk_position SET h_quantity = h_quantity \
             + CASE WHEN h_account = ? THEN ? ELSE ? END \
             WHERE h_account IN (?, ?) AND h_instrument = ?"
        }
        Query::Pay => {
            "UPDATE desk_cash SET c_balance = c_balance \
             + CASE WHEN c_account = ? THEN ? ELSE ? END WHERE c_account IN (?, ?)"
        }
        Query::Tick => {
            "UPDATE desk_quote SET q_last = ?, q_volume = q_volume + ? WHERE q_instrument = ?"
        }
        _ => {
            "SELECT (SELECT MAX(o_id) FROM desk_order WHERE o_id >= ? AND o_id < ?), \
             (SELECT MAX(t_id) FROM desk_trade WHERE t_id >= ? AND t_id < ?)"
        }
    }
    .to_owned()
}

/// What is said to make a temporary table, of as many columns as the workload's.
pub const CREATE_TEMPORARY: &str =
    "CREATE TEMPORARY TABLE desk_temporary (c0 BIGINT, c1 BIGINT, c2 BIGINT, c3 BIGINT)";

/// What is said to drop it. MySQL is told that it is temporary: otherwise it commits, and would
/// drop a table that is not.
pub fn drop_temporary(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "DROP TEMPORARY TABLE desk_temporary",
        Dialect::Postgres => "DROP TABLE pg_temp.desk_temporary",
    }
}

/// What a session has prepared.
pub struct Statements([Statement; COUNT]);

impl Statements {
    /// Prepares all.
    ///
    /// # Errors
    /// Any of the session.
    pub async fn prepare<S: Session>(session: &mut S) -> Result<Self, WireError> {
        let mut prepared = [Statement(0); COUNT];
        for (place, query) in prepared.iter_mut().zip(Query::ALL) {
            let text = text(query, S::DIALECT);
            let types = vec![Type::Int; text.matches('?').count()];
            *place = session.prepare(&text, &types).await?;
        }
        Ok(Self(prepared))
    }

    /// The prepared statement of a query.
    pub fn get(&self, query: Query) -> Statement {
        self.0[query as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::trade_desk::procedures::COLUMNS;

    #[test]
    fn the_list_of_statements_is_in_the_order_of_their_numbers() {
        for (place, query) in Query::ALL.into_iter().enumerate() {
            assert_eq!(query as usize, place);
        }
    }

    #[test]
    fn a_temporary_table_has_as_many_columns_as_in_the_engine() {
        assert_eq!(CREATE_TEMPORARY.matches("BIGINT").count(), usize::from(COLUMNS));
    }
}
