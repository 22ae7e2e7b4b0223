//! Every row of a server's desk, as the slow twin keeps it: for the invariants, and to compare
//! final states. All of it is held in memory, some 200 bytes a row.
//!
//! The tables of the catalogue stay as they are loaded: the server's own catalogue stands for them.

use assay_wire::WireError;
use assay_wire::sql::{Row as Answer, Session};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Row, Tables};
use assay_workload::trade_desk::TABLES;
use assay_workload::trade_desk::rows::{
    self, Cash, Catalogue, Leg, OpenOrder, Order, Position, Quote, Trade,
};

use crate::columns::{begin_snapshot, int, narrow, query, unexpected, within};

const ACCOUNT_MOST: i64 = (1 << 20) - 1;
const OWN_MOST: i64 = (1 << 44) - 1;

/// Reads all tables, from one snapshot.
///
/// # Errors
/// Any of the session; `Protocol` for a number that the workload's cannot be, and for a key that
/// comes twice.
pub async fn read<S: Session>(session: &mut S) -> Result<ReferenceTables, WireError> {
    begin_snapshot(session).await?;
    let read = read_all(session).await;
    session.batch("ROLLBACK").await?;
    read
}

async fn read_all<S: Session>(session: &mut S) -> Result<ReferenceTables, WireError> {
    let mut tables = ReferenceTables::new(&TABLES);
    let into = &mut tables;
    query(session, "SELECT * FROM desk_quote", |row| read_quote(row, into)).await?;
    query(session, "SELECT * FROM desk_position", |row| read_position(row, into)).await?;
    query(session, "SELECT * FROM desk_cash", |row| read_cash(row, into)).await?;
    query(session, "SELECT * FROM desk_order", |row| read_order(row, into)).await?;
    // An order that is not there has no account. No such key is in use then, whichever is taken.
    let text = "SELECT p_instrument, p_place, p_order, COALESCE(o_account, 0) \
                FROM desk_open_order LEFT JOIN desk_order ON o_id = p_order";
    query(session, text, |row| read_open_order(row, into)).await?;
    let text = "SELECT t_id, t_price, t_quantity, t_order, COALESCE(o_account, 0) \
                FROM desk_trade LEFT JOIN desk_order ON o_id = t_order";
    query(session, text, |row| read_trade(row, into)).await?;
    query(session, "SELECT * FROM desk_leg", |row| read_leg(row, into)).await?;
    keep(into, 0, &Catalogue::zeroed())?;
    Ok(tables)
}

fn keep<R: Row>(tables: &mut ReferenceTables, key: u64, row: &R) -> Result<(), WireError> {
    let kept = tables.transact(|tables| tables.insert(R::TABLE, key, row.bytes()));
    kept.map_err(|error| unexpected(error.to_string()))
}

fn account_of(answer: &impl Answer, column: usize) -> Result<u32, WireError> {
    within(answer, column, ACCOUNT_MOST)
}

fn own_of(answer: &impl Answer, column: usize) -> Result<u64, WireError> {
    within(answer, column, OWN_MOST)
}

/// The key of an order whose number and account are in these columns.
fn order_of(answer: &impl Answer, own: usize, account: usize) -> Result<u64, WireError> {
    let own = own_of(answer, own)?;
    Ok(rows::order(account_of(answer, account)?, 0, 0) | own)
}

fn read_quote(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let instrument: u16 = narrow(answer, 0)?;
    let mut row = Quote::zeroed();
    row.set_last_cents(int(answer, 1)?);
    row.set_volume(int(answer, 2)?);
    keep(into, instrument.into(), &row)
}

fn read_position(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let key = rows::position(account_of(answer, 0)?, narrow(answer, 1)?);
    let mut row = Position::zeroed();
    row.set_quantity(int(answer, 2)?);
    keep(into, key, &row)
}

fn read_cash(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let account = account_of(answer, 0)?;
    let mut row = Cash::zeroed();
    row.set_balance_cents(int(answer, 1)?);
    keep(into, account.into(), &row)
}

fn read_order(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let key = order_of(answer, 0, 1)?;
    let mut row = Order::zeroed();
    row.set_account(account_of(answer, 1)?);
    row.set_instrument(narrow(answer, 2)?);
    row.set_is_sell(within(answer, 3, 1)?);
    row.set_price_cents(int(answer, 4)?);
    row.set_quantity(int(answer, 5)?);
    row.set_state(narrow(answer, 6)?);
    row.set_trade(own_of(answer, 7)?);
    keep(into, key, &row)
}

fn read_open_order(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let key = rows::open_order(narrow(answer, 0)?, 0) | own_of(answer, 1)?;
    let mut row = OpenOrder::zeroed();
    row.set_order(order_of(answer, 2, 3)?);
    keep(into, key, &row)
}

fn read_trade(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let key = own_of(answer, 0)?;
    let mut row = Trade::zeroed();
    row.set_price_cents(int(answer, 1)?);
    row.set_quantity(int(answer, 2)?);
    row.set_order(order_of(answer, 3, 4)?);
    keep(into, key, &row)
}

fn read_leg(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let key = rows::leg(own_of(answer, 0)?, within(answer, 1, 1)?);
    let mut row = Leg::zeroed();
    row.set_account(account_of(answer, 2)?);
    row.set_instrument(narrow(answer, 3)?);
    row.set_cash_cents(int(answer, 4)?);
    row.set_quantity(int(answer, 5)?);
    keep(into, key, &row)
}
