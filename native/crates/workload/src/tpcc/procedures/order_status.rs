//! Order-Status, clause 2.6.2.

use super::customer_number;
use crate::tables::{Direction, Tables};
use crate::tpcc::inputs::OrderStatusInput;
use crate::tpcc::keys;
use crate::tpcc::rows::{Customer, Order, OrderByCustomer, OrderLine};

/// A customer's last order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whose.
    pub customer: u16,
    /// What the customer owes.
    pub balance_cents: i64,
    /// The number of the order; zero for a customer without one.
    pub order: u32,
    /// Its lines found.
    pub lines: u32,
    /// The sum of their amounts.
    pub amount_cents: i64,
}

/// Looks up a customer's last order and its lines.
pub fn order_status<T: Tables>(
    tables: &mut T,
    input: &OrderStatusInput,
) -> Result<Status, T::Abort> {
    let (warehouse, district) = (input.warehouse, input.district);
    let number = customer_number(tables, warehouse, district, input.customer)?;
    let customer: Customer = tables.get(keys::customer(warehouse, district, number))?;
    let balance_cents = customer.balance_cents();
    let mut status =
        Status { customer: number, balance_cents, order: 0, lines: 0, amount_cents: 0 };
    let orders = keys::orders_of(warehouse, district, number);
    let Some((key, _)) = tables.first::<OrderByCustomer>(orders, Direction::Backward)? else {
        return Ok(status);
    };
    status.order = keys::order_number(key);
    let order: Order = tables.get(keys::order(warehouse, district, status.order))?;
    let lines = keys::lines(warehouse, district, status.order, status.order);
    let limit = usize::from(order.lines());
    tables.scan_rows(lines, Direction::Forward, limit, |_, line: &OrderLine| {
        status.lines += 1;
        status.amount_cents += line.amount_cents();
    })?;
    Ok(status)
}
