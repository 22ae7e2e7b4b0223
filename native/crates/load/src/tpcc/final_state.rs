//! Every row of a server's database, as the slow twin keeps it: to compare final states at small
//! scale. All of it is held in memory.
//!
//! The two secondary indexes are made from the rows of their tables, as the server's own are.

use std::collections::HashMap;

use assay_wire::WireError;
use assay_wire::sql::{Row as Answer, Session};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::Row;
use assay_workload::tpcc::draws::last_name;
use assay_workload::tpcc::rows::{
    Customer, CustomerByName, District, History, Item, NewOrder, Order, OrderByCustomer, OrderLine,
    Stock, Warehouse,
};
use assay_workload::tpcc::scale::NAMES;
use assay_workload::tpcc::{TABLES, keys};

use super::TpccError;
use crate::columns::{begin_snapshot, int, narrow, query, text, unexpected, within};

const DISTRICT_MOST: i64 = 15;
const CUSTOMER_MOST: i64 = 4095;
const ITEM_MOST: i64 = (1 << 20) - 1;
const WRITER_MOST: i64 = (1 << 24) - 1;
const SEQUENCE_MOST: i64 = (1 << 40) - 1;

/// Reads all nine tables, from one snapshot.
///
/// # Errors
/// Any of the session; `Wire` with `Protocol` for a number or a last name that TPC-C's cannot be.
pub async fn read<S: Session>(session: &mut S) -> Result<ReferenceTables, TpccError> {
    begin_snapshot(session).await?;
    let read = read_all(session).await;
    session.batch("ROLLBACK").await?;
    read
}

async fn read_all<S: Session>(session: &mut S) -> Result<ReferenceTables, TpccError> {
    let mut tables = ReferenceTables::new(&TABLES);
    let names: HashMap<Vec<u8>, u16> =
        (0..NAMES).map(|number| (last_name(number).into_bytes(), number)).collect();
    let into = &mut tables;
    query(session, "SELECT * FROM warehouse", |row| read_warehouse(row, into)).await?;
    query(session, "SELECT * FROM district", |row| read_district(row, into)).await?;
    query(session, "SELECT * FROM customer", |row| read_customer(row, &names, into)).await?;
    query(session, "SELECT * FROM history", |row| read_history(row, into)).await?;
    query(session, "SELECT * FROM new_order", |row| read_new_order(row, into)).await?;
    query(session, "SELECT * FROM orders", |row| read_order(row, into)).await?;
    query(session, "SELECT * FROM order_line", |row| read_order_line(row, into)).await?;
    query(session, "SELECT * FROM item", |row| read_item(row, into)).await?;
    query(session, "SELECT * FROM stock", |row| read_stock(row, into)).await?;
    Ok(tables)
}

fn keep<R: Row>(tables: &mut ReferenceTables, key: u64, row: &R) {
    tables.load(R::TABLE, key, row.bytes());
}

/// Sets the columns of an address, which begin with the name at a column.
macro_rules! set_address {
    ($row:expr, $answer:expr, $first:expr) => {
        $row.set_street_1(text($answer, $first)?);
        $row.set_street_2(text($answer, $first + 1)?);
        $row.set_city(text($answer, $first + 2)?);
        $row.set_state(text($answer, $first + 3)?);
        $row.set_zip(text($answer, $first + 4)?);
    };
}

fn district_number(answer: &impl Answer, column: usize) -> Result<u8, WireError> {
    within(answer, column, DISTRICT_MOST)
}

fn read_warehouse(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let mut row = Warehouse::zeroed();
    row.set_name(text(answer, 1)?);
    set_address!(row, answer, 2);
    row.set_tax_e4(narrow(answer, 7)?);
    row.set_ytd_cents(int(answer, 8)?);
    keep(into, keys::warehouse(narrow(answer, 0)?), &row);
    Ok(())
}

fn read_district(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let mut row = District::zeroed();
    row.set_name(text(answer, 2)?);
    set_address!(row, answer, 3);
    row.set_tax_e4(narrow(answer, 8)?);
    row.set_ytd_cents(int(answer, 9)?);
    row.set_next_order(narrow(answer, 10)?);
    keep(into, keys::district(narrow(answer, 1)?, district_number(answer, 0)?), &row);
    Ok(())
}

fn read_customer(
    answer: &impl Answer,
    names: &HashMap<Vec<u8>, u16>,
    into: &mut ReferenceTables,
) -> Result<(), WireError> {
    let mut row = Customer::zeroed();
    row.set_first(text(answer, 3)?);
    row.set_middle(text(answer, 4)?);
    row.set_last(text(answer, 5)?);
    set_address!(row, answer, 6);
    row.set_phone(text(answer, 11)?);
    row.set_since(narrow(answer, 12)?);
    row.set_credit(text(answer, 13)?);
    row.set_credit_limit_cents(int(answer, 14)?);
    row.set_discount_e4(narrow(answer, 15)?);
    row.set_balance_cents(int(answer, 16)?);
    row.set_ytd_payment_cents(int(answer, 17)?);
    row.set_payments(narrow(answer, 18)?);
    row.set_deliveries(narrow(answer, 19)?);
    row.set_data(text(answer, 20)?);
    let number = within(answer, 0, CUSTOMER_MOST)?;
    let (district, warehouse) = (district_number(answer, 1)?, narrow(answer, 2)?);
    keep(into, keys::customer(warehouse, district, number), &row);
    let name = names.get(row.last()).ok_or_else(|| {
        unexpected(format!("C_LAST is {:?}", String::from_utf8_lossy(row.last())))
    })?;
    let mut by_name = CustomerByName::zeroed();
    by_name.set_first(row.first());
    keep(into, keys::customer_by_name(warehouse, district, *name, number), &by_name);
    Ok(())
}

fn read_history(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let mut row = History::zeroed();
    row.set_customer(narrow(answer, 2)?);
    row.set_customer_district(district_number(answer, 3)?);
    row.set_customer_warehouse(narrow(answer, 4)?);
    row.set_district(district_number(answer, 5)?);
    row.set_warehouse(narrow(answer, 6)?);
    row.set_date(narrow(answer, 7)?);
    row.set_amount_cents(int(answer, 8)?);
    row.set_data(text(answer, 9)?);
    let writer = within(answer, 0, WRITER_MOST)?;
    keep(into, keys::history(writer, within(answer, 1, SEQUENCE_MOST)?), &row);
    Ok(())
}

/// The key of an order whose number, district and warehouse are the first columns.
fn order_key(answer: &impl Answer) -> Result<(u16, u8, u32), WireError> {
    let number = within(answer, 0, keys::ORDER_MAX.into())?;
    Ok((narrow(answer, 2)?, district_number(answer, 1)?, number))
}

fn read_new_order(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let (warehouse, district, number) = order_key(answer)?;
    let mut row = NewOrder::zeroed();
    row.set_order(number.into());
    keep(into, keys::order(warehouse, district, number), &row);
    Ok(())
}

fn read_order(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let (warehouse, district, number) = order_key(answer)?;
    let customer = within(answer, 3, CUSTOMER_MOST)?;
    let mut row = Order::zeroed();
    row.set_customer(customer);
    row.set_entry_date(narrow(answer, 4)?);
    row.set_carrier(narrow(answer, 5)?);
    row.set_lines(narrow(answer, 6)?);
    row.set_all_local(narrow(answer, 7)?);
    keep(into, keys::order(warehouse, district, number), &row);
    let mut by_customer = OrderByCustomer::zeroed();
    by_customer.set_order(number.into());
    keep(into, keys::order_by_customer(warehouse, district, customer, number), &by_customer);
    Ok(())
}

fn read_order_line(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let (warehouse, district, number) = order_key(answer)?;
    let mut row = OrderLine::zeroed();
    row.set_item(narrow(answer, 4)?);
    row.set_supply_warehouse(narrow(answer, 5)?);
    row.set_delivery_date(narrow(answer, 6)?);
    row.set_quantity(narrow(answer, 7)?);
    row.set_amount_cents(int(answer, 8)?);
    row.set_district_info(text(answer, 9)?);
    let line = within(answer, 3, 15)?;
    keep(into, keys::order_line(warehouse, district, number, line), &row);
    Ok(())
}

fn read_item(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let mut row = Item::zeroed();
    row.set_image(narrow(answer, 1)?);
    row.set_name(text(answer, 2)?);
    row.set_price_cents(int(answer, 3)?);
    row.set_data(text(answer, 4)?);
    keep(into, keys::item(within(answer, 0, ITEM_MOST)?), &row);
    Ok(())
}

fn read_stock(answer: &impl Answer, into: &mut ReferenceTables) -> Result<(), WireError> {
    let mut row = Stock::zeroed();
    row.set_quantity(int(answer, 2)?);
    let mut infos = [0; 240];
    for (place, info) in infos.chunks_exact_mut(24).enumerate() {
        let found = text(answer, 3 + place)?;
        if found.len() != info.len() {
            return Err(unexpected(format!("S_DIST_{:02} has {} bytes", place + 1, found.len())));
        }
        info.copy_from_slice(found);
    }
    row.set_district_infos(&infos);
    row.set_ytd(narrow(answer, 13)?);
    row.set_orders(narrow(answer, 14)?);
    row.set_remote_orders(narrow(answer, 15)?);
    row.set_data(text(answer, 16)?);
    let item = within(answer, 0, ITEM_MOST)?;
    keep(into, keys::stock(narrow(answer, 1)?, item), &row);
    Ok(())
}
