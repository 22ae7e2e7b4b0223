//! Delivery, clause 2.7.4, all districts in one transaction.
//!
//! The oldest new order of each district is removed one district at a time; the orders, lines and
//! customers of all of them are then changed together, which is the same since no two districts
//! share a row.

use assay_wire::WireError;
use assay_wire::sql::Session;
use assay_workload::tpcc::inputs::DeliveryInput;
use assay_workload::tpcc::procedures::Delivered;
use assay_workload::tpcc::scale::DISTRICTS;

use super::{Abort, Terminal, Values, int, missing, repeat_last};
use crate::columns::{int as int_of, narrow};
use crate::tpcc::statements::{Flavour, Query, padded};

const MOST: usize = DISTRICTS as usize;

/// An order to be delivered; at most one per district.
#[derive(Clone, Copy, Debug, Default)]
struct Order {
    district: u8,
    number: u32,
    customer: Option<u16>,
    amount_cents: Option<i64>,
}

impl Order {
    fn find(orders: &mut [Order], district: u8) -> Result<&mut Order, WireError> {
        let found = orders.iter_mut().find(|order| order.district == district);
        let what = || format!("district {district} was not asked for");
        found.ok_or_else(|| crate::columns::unexpected(what()))
    }
}

/// One number or two, the warehouse, and a pair per order.
type Parameters<'v> = Values<'v, { 4 * MOST + 2 }>;

impl<S: Session> Terminal<S> {
    pub(super) async fn delivery(&mut self, input: &DeliveryInput) -> Result<Delivered, Abort> {
        let mut list = [Order::default(); MOST];
        let mut count = 0;
        for district in 1..=DISTRICTS {
            if let Some(number) = self.take_oldest(input.warehouse, district).await? {
                list[count] = Order { district, number, ..Order::default() };
                count += 1;
            }
        }
        let orders = &mut list[..count];
        if !orders.is_empty() {
            self.carry(input, orders).await?;
            self.deliver_lines(input, orders).await?;
            self.deliver_to(input, orders).await?;
        }
        Ok(Delivered { orders: count as u8, skipped: DISTRICTS - count as u8 })
    }

    /// Removes the oldest new order of a district; its number.
    async fn take_oldest(
        &mut self,
        warehouse: u16,
        district: u8,
    ) -> Result<Option<u32>, WireError> {
        let [warehouse, district] = [int(warehouse), int(district)];
        let key = [warehouse, district, warehouse, district];
        let values = if self.is_returning() { &key[..] } else { &key[..2] };
        let mut found = None;
        let visit = |row: &S::Row<'_>| {
            found = Some(narrow(row, 0)?);
            Ok(())
        };
        self.ask(Query::OldestNewOrder, values, visit).await?;
        if let (Some(number), Flavour::MySql) = (found, self.statements.flavour()) {
            let number: u32 = number;
            self.tell(Query::RemoveNewOrder, &[warehouse, district, int(number)]).await?;
        }
        Ok(found)
    }

    async fn carry(&mut self, input: &DeliveryInput, orders: &mut [Order]) -> Result<(), Abort> {
        let rows = padded(orders.len()).min(MOST);
        let mut values = Parameters::new();
        values.push_int(input.carrier);
        push_orders(&mut values, input.warehouse, orders, rows);
        let visit = |row: &S::Row<'_>| {
            Order::find(orders, narrow(row, 0)?)?.customer = Some(narrow(row, 1)?);
            Ok(())
        };
        if self.is_returning() {
            self.ask(Query::Carry(rows), values.as_slice(), visit).await?;
        } else {
            self.tell(Query::Carry(rows), values.as_slice()).await?;
            self.ask(Query::Carried(rows), &values.as_slice()[1..], visit).await?;
        }
        Ok(())
    }

    async fn deliver_lines(
        &mut self,
        input: &DeliveryInput,
        orders: &mut [Order],
    ) -> Result<(), WireError> {
        let rows = padded(orders.len()).min(MOST);
        let mut values = Parameters::new();
        values.push_int(input.date as i64);
        push_orders(&mut values, input.warehouse, orders, rows);
        let visit = |row: &S::Row<'_>| {
            Order::find(orders, narrow(row, 0)?)?.amount_cents = Some(int_of(row, 1)?);
            Ok(())
        };
        if self.is_returning() {
            self.ask(Query::DeliverLines(rows), values.as_slice(), visit).await?;
        } else {
            self.tell(Query::DeliverLines(rows), values.as_slice()).await?;
            self.ask(Query::LineSums(rows), &values.as_slice()[1..], visit).await?;
        }
        Ok(())
    }

    async fn deliver_to(&mut self, input: &DeliveryInput, orders: &[Order]) -> Result<(), Abort> {
        let rows = padded(orders.len()).min(MOST);
        let mut values = Parameters::new();
        let key =
            |order: &Order| format!("({}, {}, {})", input.warehouse, order.district, order.number);
        for order in repeat_last(orders, rows) {
            values.push_int(order.district);
            let amount_cents = order.amount_cents;
            values.push_int(amount_cents.ok_or_else(|| missing("order_line", key(order)))?);
        }
        values.push_int(input.warehouse);
        for order in repeat_last(orders, rows) {
            let customer = order.customer.ok_or_else(|| missing("orders", key(order)))?;
            values.push_int(order.district);
            values.push_int(customer);
        }
        self.tell(Query::DeliverTo(rows), values.as_slice()).await?;
        Ok(())
    }
}

fn push_orders(values: &mut Parameters<'_>, warehouse: u16, orders: &[Order], rows: usize) {
    values.push_int(warehouse);
    for order in repeat_last(orders, rows) {
        values.push_int(order.district);
        values.push_int(order.number);
    }
}
