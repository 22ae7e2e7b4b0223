//! New-Order, clause 2.4.2.

use crate::tables::{AbortCause, Row, Tables};
use crate::tpcc::draws::is_original;
use crate::tpcc::inputs::{Line, NewOrderInput};
use crate::tpcc::keys;
use crate::tpcc::rows::{
    Customer, District, Item, NewOrder, Order, OrderByCustomer, OrderLine, Stock, Warehouse,
};

/// An order that was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Its number in the district.
    pub order: u32,
    /// The sum of its lines, less the discount, plus the taxes, rounded down.
    pub total_cents: i64,
    /// Lines that are shown as "brand".
    pub brand_lines: u8,
}

/// Enters an order. Rolls back when the last item does not exist, after everything before it.
pub fn new_order<T: Tables>(tables: &mut T, input: &NewOrderInput) -> Result<Entered, T::Abort> {
    let (home, district_number) = (input.warehouse, input.district);
    announce(tables, input.lines());
    let warehouse: Warehouse = tables.get(keys::warehouse(home))?;
    let mut order = 0;
    let district = tables.update(keys::district(home, district_number), |row: &mut District| {
        order = row.next_order();
        row.set_next_order(order + 1);
    })?;
    let customer: Customer = tables.get(keys::customer(home, district_number, input.customer))?;
    add_order(tables, input, order)?;
    let (mut sum_cents, mut brand_lines) = (0, 0);
    for (number, line) in (1..).zip(input.lines()) {
        let key = keys::order_line(home, district_number, order, number);
        let (amount_cents, is_brand) = add_line(tables, input, line, key)?;
        sum_cents += amount_cents;
        brand_lines += u8::from(is_brand);
    }
    let rates = [warehouse.tax_e4(), district.tax_e4(), customer.discount_e4()];
    Ok(Entered { order, total_cents: total_cents(sum_cents, rates), brand_lines })
}

/// The rows that the lines need are known, and independent of one another.
fn announce<T: Tables>(tables: &mut T, lines: &[Line]) {
    let stocks = lines.iter().map(|line| keys::stock(line.supply_warehouse, line.item));
    tables.announce(Stock::TABLE, stocks);
    tables.announce(Item::TABLE, lines.iter().map(|line| keys::item(line.item)));
}

/// What an order costs: the sum of its lines less the discount, plus both taxes, rounded down; the
/// rates (warehouse's tax, district's tax, customer's discount) in ten-thousandths.
pub fn total_cents(sum_cents: i64, [warehouse_tax, district_tax, discount]: [u32; 3]) -> i64 {
    const ONE: i64 = 10_000;
    let taxed = ONE + i64::from(warehouse_tax) + i64::from(district_tax);
    sum_cents * (ONE - i64::from(discount)) * taxed / (ONE * ONE)
}

fn add_order<T: Tables>(
    tables: &mut T,
    input: &NewOrderInput,
    number: u32,
) -> Result<(), T::Abort> {
    let lines = input.lines();
    let is_local = lines.iter().all(|line| line.supply_warehouse == input.warehouse);
    let mut order = Order::zeroed();
    order.set_entry_date(input.date);
    order.set_customer(input.customer);
    order.set_lines(lines.len() as u8);
    order.set_all_local(u8::from(is_local));
    let key = keys::order(input.warehouse, input.district, number);
    tables.add(key, &order)?;
    let mut new_order = NewOrder::zeroed();
    new_order.set_order(number.into());
    tables.add(key, &new_order)?;
    let mut by_customer = OrderByCustomer::zeroed();
    by_customer.set_order(number.into());
    let (warehouse, district) = (input.warehouse, input.district);
    let key = keys::order_by_customer(warehouse, district, input.customer, number);
    tables.add(key, &by_customer)
}

/// Takes the stock and adds the line: its amount, and whether it is a "brand" item.
fn add_line<T: Tables>(
    tables: &mut T,
    input: &NewOrderInput,
    line: &Line,
    key: u64,
) -> Result<(i64, bool), T::Abort> {
    let Some(item) = tables.find::<Item>(keys::item(line.item))? else {
        return Err(tables.abort(AbortCause::Requested));
    };
    let stock_key = keys::stock(line.supply_warehouse, line.item);
    let is_remote = line.supply_warehouse != input.warehouse;
    let stock = tables.update(stock_key, |stock| take(stock, line.quantity, is_remote))?;
    let mut row = OrderLine::zeroed();
    row.set_amount_cents(item.price_cents() * i64::from(line.quantity));
    row.set_item(line.item);
    row.set_supply_warehouse(line.supply_warehouse);
    row.set_quantity(line.quantity);
    row.set_district_info(stock.district_info(input.district));
    tables.add(key, &row)?;
    Ok((row.amount_cents(), is_original(item.data()) && is_original(stock.data())))
}

/// S_QUANTITY after taking: at least ten are kept, by refilling with 91.
pub fn stock_left(before: i64, quantity: u8) -> i64 {
    let left = before - i64::from(quantity);
    if left >= 10 { left } else { left + 91 }
}

fn take(stock: &mut Stock, quantity: u8, is_remote: bool) {
    stock.set_quantity(stock_left(stock.quantity(), quantity));
    stock.set_ytd(stock.ytd() + u64::from(quantity));
    stock.set_orders(stock.orders() + 1);
    stock.set_remote_orders(stock.remote_orders() + u32::from(is_remote));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_refilled_when_fewer_than_ten_would_be_left() {
        for (before, quantity, after) in [(20, 10, 10), (19, 10, 100), (10, 1, 100), (11, 1, 10)] {
            let mut stock = Stock::zeroed();
            stock.set_quantity(before);
            take(&mut stock, quantity, true);
            assert_eq!(stock.quantity(), after, "{before} less {quantity}");
            assert_eq!((stock.orders(), stock.remote_orders()), (1, 1));
        }
    }

    #[test]
    fn the_total_has_discount_and_both_taxes() {
        // 100.00 less 10 % is 90.00; plus 5 % and 15 % is 108.00.
        assert_eq!(total_cents(10_000, [500, 1500, 1000]), 10_800);
    }
}
