//! The workload's rows as rows of INSERT statements.

use std::fmt::Write;

use assay_wire::sql::Dialect;
use assay_workload::tables::{Row, TableId};
use assay_workload::tpcc::keys;
use assay_workload::tpcc::rows::{
    Customer, District, History, Item, NewOrder, Order, OrderLine, Stock, Warehouse,
};

use super::TpccError;
use super::quote::quote;

/// A value of a column.
enum Literal<'v> {
    Int(i64),
    Text(&'v [u8]),
}

impl<'v> From<&'v [u8]> for Literal<'v> {
    fn from(text: &'v [u8]) -> Self {
        Self::Text(text)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl From<$type> for Literal<'_> {
            fn from(number: $type) -> Self {
                Self::Int(number as i64)
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, i64);

/// Writes a row: `(1, 'text')`.
fn write_row(dialect: Dialect, values: &[Literal<'_>], into: &mut String) -> Result<(), TpccError> {
    into.push('(');
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            into.push(',');
        }
        match value {
            // Writing to a text cannot fail.
            Literal::Int(number) => drop(write!(into, "{number}")),
            Literal::Text(text) => quote(dialect, text, into)?,
        }
    }
    into.push(')');
    Ok(())
}

/// The name of a table in SQL; none for a secondary index, which the server keeps itself.
pub fn table_name(table: TableId) -> Option<&'static str> {
    Some(match table {
        Warehouse::TABLE => "warehouse",
        District::TABLE => "district",
        Customer::TABLE => "customer",
        History::TABLE => "history",
        NewOrder::TABLE => "new_order",
        Order::TABLE => "orders",
        OrderLine::TABLE => "order_line",
        Item::TABLE => "item",
        Stock::TABLE => "stock",
        _ => return None,
    })
}

/// The bytes of a row as that row.
fn typed<R: Row>(bytes: &[u8]) -> R {
    let mut row = R::zeroed();
    row.bytes_mut().copy_from_slice(bytes);
    row
}

macro_rules! write_values {
    ($dialect:expr, $into:expr; $($value:expr),* $(,)?) => {
        write_row($dialect, &[$(Literal::from($value)),*], $into)
    };
}

/// Appends the values of a row in the order of the columns in `schema`.
///
/// # Errors
/// `Text` for a text that no literal can hold.
pub fn write_values(
    dialect: Dialect,
    table: TableId,
    key: u64,
    bytes: &[u8],
    into: &mut String,
) -> Result<(), TpccError> {
    match table {
        Warehouse::TABLE => warehouse(dialect, key, &typed(bytes), into),
        District::TABLE => district(dialect, key, &typed(bytes), into),
        Customer::TABLE => customer(dialect, key, &typed(bytes), into),
        History::TABLE => history(dialect, key, &typed(bytes), into),
        NewOrder::TABLE => {
            let (warehouse, district, number) = order_key(key);
            write_values!(dialect, into; number, district, warehouse)
        }
        Order::TABLE => order(dialect, key, &typed(bytes), into),
        OrderLine::TABLE => order_line(dialect, key, &typed(bytes), into),
        Item::TABLE => {
            let row: Item = typed(bytes);
            write_values!(dialect, into; key, row.image(), row.name(), row.price_cents(), row.data())
        }
        Stock::TABLE => stock(dialect, key, &typed(bytes), into),
        // A secondary index.
        _ => Ok(()),
    }
}

/// Warehouse, district and number of an order.
fn order_key(key: u64) -> (u16, u8, u32) {
    let (warehouse, district) = keys::split_district(keys::district_of_order(key));
    (warehouse, district, keys::order_number(key))
}

type Written = Result<(), TpccError>;

fn warehouse(dialect: Dialect, key: u64, row: &Warehouse, into: &mut String) -> Written {
    write_values!(
        dialect, into;
        key, row.name(), row.street_1(), row.street_2(), row.city(), row.state(), row.zip(),
        row.tax_e4(), row.ytd_cents(),
    )
}

fn district(dialect: Dialect, key: u64, row: &District, into: &mut String) -> Written {
    let (warehouse, number) = keys::split_district(key);
    write_values!(
        dialect, into;
        number, warehouse, row.name(), row.street_1(), row.street_2(), row.city(), row.state(),
        row.zip(), row.tax_e4(), row.ytd_cents(), row.next_order(),
    )
}

fn customer(dialect: Dialect, key: u64, row: &Customer, into: &mut String) -> Written {
    let (place, number) = keys::split_customer(key);
    let (warehouse, district) = keys::split_district(place);
    write_values!(
        dialect, into;
        number, district, warehouse, row.first(), row.middle(), row.last(), row.street_1(),
        row.street_2(), row.city(), row.state(), row.zip(), row.phone(), row.since(), row.credit(),
        row.credit_limit_cents(), row.discount_e4(), row.balance_cents(), row.ytd_payment_cents(),
        row.payments(), row.deliveries(), row.data(),
    )
}

fn history(dialect: Dialect, key: u64, row: &History, into: &mut String) -> Written {
    let (writer, sequence) = keys::split_history(key);
    write_values!(
        dialect, into;
        writer, sequence, row.customer(), row.customer_district(), row.customer_warehouse(),
        row.district(), row.warehouse(), row.date(), row.amount_cents(), row.data(),
    )
}

fn order(dialect: Dialect, key: u64, row: &Order, into: &mut String) -> Written {
    let (warehouse, district, number) = order_key(key);
    write_values!(
        dialect, into;
        number, district, warehouse, row.customer(), row.entry_date(), row.carrier(), row.lines(),
        row.all_local(),
    )
}

fn order_line(dialect: Dialect, key: u64, row: &OrderLine, into: &mut String) -> Written {
    let (warehouse, district, number) = order_key(keys::order_of_line(key));
    write_values!(
        dialect, into;
        number, district, warehouse, keys::line_number(key), row.item(), row.supply_warehouse(),
        row.delivery_date(), row.quantity(), row.amount_cents(), row.district_info(),
    )
}

fn stock(dialect: Dialect, key: u64, row: &Stock, into: &mut String) -> Written {
    let (warehouse, item) = keys::split_stock(key);
    let info = |district| Literal::from(row.district_info(district));
    let values = [
        item.into(),
        warehouse.into(),
        row.quantity().into(),
        info(1),
        info(2),
        info(3),
        info(4),
        info(5),
        info(6),
        info(7),
        info(8),
        info(9),
        info(10),
        row.ytd().into(),
        row.orders().into(),
        row.remote_orders().into(),
        row.data().into(),
    ];
    write_row(dialect, &values, into)
}
