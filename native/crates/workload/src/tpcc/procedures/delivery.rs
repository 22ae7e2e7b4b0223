//! Delivery, clause 2.7.4, all districts in one transaction.

use crate::tables::{Direction, Tables};
use crate::tpcc::inputs::DeliveryInput;
use crate::tpcc::keys;
use crate::tpcc::rows::{Customer, NewOrder, Order, OrderLine};
use crate::tpcc::scale::DISTRICTS;

/// What was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Districts in which an order was waiting.
    pub orders: u8,
    /// Districts in which none was.
    pub skipped: u8,
}

/// Delivers the oldest order of each district.
pub fn delivery<T: Tables>(tables: &mut T, input: &DeliveryInput) -> Result<Delivered, T::Abort> {
    let mut delivered = Delivered { orders: 0, skipped: 0 };
    for district in 1..=DISTRICTS {
        let waiting = keys::orders(input.warehouse, district);
        match tables.first::<NewOrder>(waiting, Direction::Forward)? {
            Some((key, _)) => {
                deliver(tables, input, district, key)?;
                delivered.orders += 1;
            }
            None => delivered.skipped += 1,
        }
    }
    Ok(delivered)
}

fn deliver<T: Tables>(
    tables: &mut T,
    input: &DeliveryInput,
    district: u8,
    key: u64,
) -> Result<(), T::Abort> {
    tables.remove::<NewOrder>(key)?;
    let order = tables.update(key, |order: &mut Order| order.set_carrier(input.carrier))?;
    let number = keys::order_number(key);
    let mut amount_cents = 0;
    for line in 1..=order.lines() {
        let key = keys::order_line(input.warehouse, district, number, line);
        let row = tables.update(key, |row: &mut OrderLine| row.set_delivery_date(input.date))?;
        amount_cents += row.amount_cents();
    }
    let key = keys::customer(input.warehouse, district, order.customer());
    tables.update(key, |customer: &mut Customer| {
        customer.set_balance_cents(customer.balance_cents() + amount_cents);
        customer.set_deliveries(customer.deliveries() + 1);
    })?;
    Ok(())
}
