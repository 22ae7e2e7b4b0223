//! What the conditions compare, added up in one scan of each table.

use std::collections::BTreeMap;

use crate::tables::{Direction, Row, Tables};
use crate::tpcc::keys;
use crate::tpcc::rows::{
    Customer, CustomerByName, District, History, NewOrder, Order, OrderByCustomer, OrderLine,
    Warehouse,
};

/// One warehouse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarehouseFacts {
    /// W_YTD.
    pub ytd_cents: i64,
    /// Sum of D_YTD.
    pub districts_ytd_cents: i64,
    /// Sum of H_AMOUNT.
    pub history_cents: i64,
}

/// One district.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistrictFacts {
    /// D_YTD.
    pub ytd_cents: i64,
    /// Sum of H_AMOUNT.
    pub history_cents: i64,
    /// D_NEXT_O_ID.
    pub next_order: u32,
    /// Rows in ORDER.
    pub orders: u64,
    /// The largest O_ID, zero without any.
    pub order_max: u32,
    /// Sum of O_OL_CNT.
    pub lines_declared: u64,
    /// Rows in ORDER-LINE.
    pub lines: u64,
    /// Rows in NEW-ORDER.
    pub new_orders: u64,
    /// The smallest NO_O_ID.
    pub new_order_min: u32,
    /// The largest NO_O_ID.
    pub new_order_max: u32,
}

/// One order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFacts {
    /// Whether there is a row in ORDER; all else may come from rows that lost theirs.
    pub exists: bool,
    /// The customer's key.
    pub customer: u64,
    /// O_CARRIER_ID, zero for null.
    pub carrier: u8,
    /// O_OL_CNT.
    pub lines_declared: u8,
    /// Rows in ORDER-LINE.
    pub lines: u32,
    /// Those without a delivery date.
    pub lines_undelivered: u32,
    /// Whether it is in NEW-ORDER.
    pub is_new: bool,
    /// Sum of OL_AMOUNT over delivered lines.
    pub delivered_cents: i64,
    /// Rows in the index by customer, under the order's customer.
    pub index_rows: u32,
}

/// One customer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomerFacts {
    /// C_BALANCE.
    pub balance_cents: i64,
    /// C_YTD_PAYMENT.
    pub ytd_payment_cents: i64,
    /// Sum of OL_AMOUNT over delivered lines.
    pub delivered_cents: i64,
    /// Sum of H_AMOUNT.
    pub history_cents: i64,
    /// Rows in the index by name.
    pub index_rows: u32,
}

/// The sums over a whole database, by the packed keys of [`keys`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// By warehouse key.
    pub warehouses: BTreeMap<u64, WarehouseFacts>,
    /// By district key.
    pub districts: BTreeMap<u64, DistrictFacts>,
    /// By order key.
    pub orders: BTreeMap<u64, OrderFacts>,
    /// By customer key.
    pub customers: BTreeMap<u64, CustomerFacts>,
}

fn each<T: Tables, R: Row>(tables: &mut T, visit: impl FnMut(u64, &R)) -> Result<(), T::Abort> {
    tables.scan_rows(keys::ALL, Direction::Forward, usize::MAX, visit)
}

impl Census {
    /// Scans every table but ITEM and STOCK.
    pub fn read<T: Tables>(tables: &mut T) -> Result<Self, T::Abort> {
        let mut census = Self::default();
        census.read_places(tables)?;
        census.read_orders(tables)?;
        census.read_lines(tables)?;
        census.read_history(tables)?;
        census.read_indexes(tables)?;
        Ok(census)
    }

    fn read_places<T: Tables>(&mut self, tables: &mut T) -> Result<(), T::Abort> {
        each(tables, |key, row: &Warehouse| {
            self.warehouses.entry(key).or_default().ytd_cents = row.ytd_cents();
        })?;
        each(tables, |key, row: &District| {
            let (warehouse, _) = keys::split_district(key);
            let above = self.warehouses.entry(keys::warehouse(warehouse)).or_default();
            above.districts_ytd_cents += row.ytd_cents();
            let district = self.districts.entry(key).or_default();
            district.ytd_cents = row.ytd_cents();
            district.next_order = row.next_order();
        })?;
        each(tables, |key, row: &Customer| {
            let customer = self.customers.entry(key).or_default();
            customer.balance_cents = row.balance_cents();
            customer.ytd_payment_cents = row.ytd_payment_cents();
        })
    }

    fn read_orders<T: Tables>(&mut self, tables: &mut T) -> Result<(), T::Abort> {
        each(tables, |key, row: &Order| {
            let place = keys::district_of_order(key);
            let district = self.districts.entry(place).or_default();
            district.orders += 1;
            district.order_max = keys::order_number(key);
            district.lines_declared += u64::from(row.lines());
            let (warehouse, district) = keys::split_district(place);
            let order = self.orders.entry(key).or_default();
            order.exists = true;
            order.customer = keys::customer(warehouse, district, row.customer());
            order.carrier = row.carrier();
            order.lines_declared = row.lines();
        })?;
        each(tables, |key, _: &NewOrder| {
            let district = self.districts.entry(keys::district_of_order(key)).or_default();
            let number = keys::order_number(key);
            if district.new_orders == 0 {
                district.new_order_min = number;
            }
            district.new_orders += 1;
            district.new_order_max = number;
            self.orders.entry(key).or_default().is_new = true;
        })
    }

    fn read_lines<T: Tables>(&mut self, tables: &mut T) -> Result<(), T::Abort> {
        each(tables, |key, row: &OrderLine| {
            let key = keys::order_of_line(key);
            self.districts.entry(keys::district_of_order(key)).or_default().lines += 1;
            let order = self.orders.entry(key).or_default();
            order.lines += 1;
            if row.delivery_date() == 0 {
                order.lines_undelivered += 1;
            } else {
                order.delivered_cents += row.amount_cents();
            }
        })?;
        for order in self.orders.values().filter(|order| order.exists) {
            let customer = self.customers.entry(order.customer).or_default();
            customer.delivered_cents += order.delivered_cents;
        }
        Ok(())
    }

    fn read_history<T: Tables>(&mut self, tables: &mut T) -> Result<(), T::Abort> {
        each(tables, |_, row: &History| {
            let amount_cents = row.amount_cents();
            let warehouse = keys::warehouse(row.warehouse());
            self.warehouses.entry(warehouse).or_default().history_cents += amount_cents;
            let district = keys::district(row.warehouse(), row.district());
            self.districts.entry(district).or_default().history_cents += amount_cents;
            let (home, place) = (row.customer_warehouse(), row.customer_district());
            let customer = keys::customer(home, place, row.customer());
            self.customers.entry(customer).or_default().history_cents += amount_cents;
        })
    }

    fn read_indexes<T: Tables>(&mut self, tables: &mut T) -> Result<(), T::Abort> {
        each(tables, |key, _: &CustomerByName| {
            let customer = keys::customer_of_key_by_name(key);
            self.customers.entry(customer).or_default().index_rows += 1;
        })?;
        each(tables, |key, _: &OrderByCustomer| {
            let (customer, order) = keys::split_order_by_customer(key);
            let order = self.orders.entry(order).or_default();
            if order.customer == customer {
                order.index_rows += 1;
            }
        })
    }
}
