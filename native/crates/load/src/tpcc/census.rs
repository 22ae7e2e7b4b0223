//! The sums that the consistency conditions compare, read from a server.
//!
//! Lines and history are added up by the server (they are the large tables); everything else is
//! read row by row. All of it comes from one snapshot, though nobody should write meanwhile. Of the
//! secondary indexes nothing is read: a server's index follows its table, so every row that exists
//! counts as being in its index once.

use assay_wire::WireError;
use assay_wire::sql::Session;
use assay_workload::tpcc::{Census, keys};

use super::TpccError;
use crate::columns::{begin_snapshot, int, narrow, query, sum, within};

/// The most that the packed keys hold.
const DISTRICT_MOST: i64 = 15;
const CUSTOMER_MOST: i64 = 4095;

/// Reads what `check_after_loading` and `check_after_running` need.
///
/// # Errors
/// Any of the session; `Wire` with `Protocol` for a key that TPC-C's numbers cannot be.
pub async fn read<S: Session>(session: &mut S) -> Result<Census, TpccError> {
    begin_snapshot(session).await?;
    let read = read_all(session).await;
    session.batch("ROLLBACK").await?;
    read
}

async fn read_all<S: Session>(session: &mut S) -> Result<Census, TpccError> {
    let mut census = Census::default();
    read_places(session, &mut census).await?;
    read_orders(session, &mut census).await?;
    read_lines(session, &mut census).await?;
    read_history(session, &mut census).await?;
    Ok(census)
}

/// Warehouse, district, both from a column on.
fn place(row: &impl assay_wire::sql::Row, column: usize) -> Result<(u16, u8), WireError> {
    Ok((narrow(row, column)?, within(row, column + 1, DISTRICT_MOST)?))
}

fn customer_key(row: &impl assay_wire::sql::Row, column: usize) -> Result<u64, WireError> {
    let (warehouse, district) = place(row, column)?;
    Ok(keys::customer(warehouse, district, within(row, column + 2, CUSTOMER_MOST)?))
}

fn order_key(row: &impl assay_wire::sql::Row, column: usize) -> Result<u64, WireError> {
    let (warehouse, district) = place(row, column)?;
    Ok(keys::order(warehouse, district, within(row, column + 2, keys::ORDER_MAX.into())?))
}

async fn read_places<S: Session>(session: &mut S, census: &mut Census) -> Result<(), TpccError> {
    query(session, "SELECT w_id, w_ytd FROM warehouse", |row| {
        let key = keys::warehouse(narrow(row, 0)?);
        census.warehouses.entry(key).or_default().ytd_cents = int(row, 1)?;
        Ok(())
    })
    .await?;
    query(session, "SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district", |row| {
        let (warehouse, district) = place(row, 0)?;
        let ytd_cents = int(row, 2)?;
        let above = census.warehouses.entry(keys::warehouse(warehouse)).or_default();
        above.districts_ytd_cents += ytd_cents;
        let facts = census.districts.entry(keys::district(warehouse, district)).or_default();
        facts.ytd_cents = ytd_cents;
        facts.next_order = narrow(row, 3)?;
        Ok(())
    })
    .await?;
    let text = "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment FROM customer";
    query(session, text, |row| {
        let customer = census.customers.entry(customer_key(row, 0)?).or_default();
        customer.balance_cents = int(row, 3)?;
        customer.ytd_payment_cents = int(row, 4)?;
        customer.index_rows = 1;
        Ok(())
    })
    .await?;
    Ok(())
}

async fn read_orders<S: Session>(session: &mut S, census: &mut Census) -> Result<(), TpccError> {
    let text = "SELECT o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders";
    query(session, text, |row| {
        let (key, (warehouse, place)) = (order_key(row, 0)?, place(row, 0)?);
        let lines: u8 = narrow(row, 5)?;
        let district = census.districts.entry(keys::district_of_order(key)).or_default();
        district.orders += 1;
        district.order_max = district.order_max.max(keys::order_number(key));
        district.lines_declared += u64::from(lines);
        let order = census.orders.entry(key).or_default();
        order.exists = true;
        order.customer = keys::customer(warehouse, place, within(row, 3, CUSTOMER_MOST)?);
        order.carrier = narrow(row, 4)?;
        order.lines_declared = lines;
        order.index_rows = 1;
        Ok(())
    })
    .await?;
    query(session, "SELECT no_w_id, no_d_id, no_o_id FROM new_order", |row| {
        let key = order_key(row, 0)?;
        let number = keys::order_number(key);
        let district = census.districts.entry(keys::district_of_order(key)).or_default();
        if district.new_orders == 0 || number < district.new_order_min {
            district.new_order_min = number;
        }
        district.new_orders += 1;
        district.new_order_max = district.new_order_max.max(number);
        census.orders.entry(key).or_default().is_new = true;
        Ok(())
    })
    .await?;
    Ok(())
}

async fn read_lines<S: Session>(session: &mut S, census: &mut Census) -> Result<(), TpccError> {
    let text = "SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*), \
                SUM(CASE WHEN ol_delivery_d = 0 THEN 1 ELSE 0 END), \
                SUM(CASE WHEN ol_delivery_d = 0 THEN 0 ELSE ol_amount END) \
                FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id";
    query(session, text, |row| {
        let key = order_key(row, 0)?;
        let lines: u32 = narrow(row, 3)?;
        let district = census.districts.entry(keys::district_of_order(key)).or_default();
        district.lines += u64::from(lines);
        let order = census.orders.entry(key).or_default();
        order.lines = lines;
        order.lines_undelivered = narrow(row, 4)?;
        order.delivered_cents = sum(row, 5)?;
        Ok(())
    })
    .await?;
    for order in census.orders.values().filter(|order| order.exists) {
        let customer = census.customers.entry(order.customer).or_default();
        customer.delivered_cents += order.delivered_cents;
    }
    Ok(())
}

async fn read_history<S: Session>(session: &mut S, census: &mut Census) -> Result<(), TpccError> {
    let text = "SELECT h_w_id, h_d_id, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id";
    query(session, text, |row| {
        let ((warehouse, district), cents) = (place(row, 0)?, sum(row, 2)?);
        let above = census.warehouses.entry(keys::warehouse(warehouse)).or_default();
        above.history_cents += cents;
        let key = keys::district(warehouse, district);
        census.districts.entry(key).or_default().history_cents += cents;
        Ok(())
    })
    .await?;
    let text = "SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) FROM history \
                GROUP BY h_c_w_id, h_c_d_id, h_c_id";
    query(session, text, |row| {
        let customer = census.customers.entry(customer_key(row, 0)?).or_default();
        customer.history_cents += sum(row, 3)?;
        Ok(())
    })
    .await?;
    Ok(())
}
