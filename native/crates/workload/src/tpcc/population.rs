//! The initial database, clause 4.3.3.1, row by row into whatever takes rows.
//!
//! Each warehouse, and the items, have a stream of random numbers of their own: they can be loaded
//! by different threads in any order, with the same rows.
//!
//! Where this is not the letter of the specification: dates are the constant `LOAD_DATE`, since
//! inputs know no clock; bad credit and ORIGINAL are independent draws of 10 %; texts are
//! alphanumeric; with fewer than 1,000 customers there are as many last names as customers.

use std::ops::RangeInclusive;

use super::draws::{self, Words, uniform};
use super::keys;
use super::rows::{
    Customer, CustomerByName, District, History, Item, NewOrder, Order, OrderByCustomer, OrderLine,
    Stock, Warehouse,
};
use super::scale::{DISTRICTS, NAMES};
use super::stream::Plan;
use crate::tables::{Row, TableId};
use assay_random::Random;

/// The date of everything that was there before the run.
pub const LOAD_DATE: u64 = 1;
const PURPOSE: u64 = 0x7470_6363_204C << 16;

/// Takes the rows of one part of the database.
struct Loader<'a, S> {
    plan: &'a Plan,
    random: Random,
    sink: S,
}

impl Plan {
    /// Gives every item to `sink`.
    pub fn load_items(&self, mut sink: impl FnMut(TableId, u64, &[u8])) {
        let mut pieces = self.item_pieces();
        while pieces.next(&mut sink) {}
    }

    /// Gives every row of one warehouse (from 1) to `sink`; not in the order of keys.
    pub fn load_warehouse(&self, warehouse: u16, mut sink: impl FnMut(TableId, u64, &[u8])) {
        let mut pieces = self.warehouse_pieces(warehouse);
        while pieces.next(&mut sink) {}
    }

    /// Every item, piece by piece.
    pub fn item_pieces(&self) -> Pieces<'_> {
        self.pieces(0)
    }

    /// Every row of one warehouse (from 1), piece by piece; not in the order of keys.
    pub fn warehouse_pieces(&self, warehouse: u16) -> Pieces<'_> {
        self.pieces(warehouse)
    }

    fn pieces(&self, part: u16) -> Pieces<'_> {
        let random = Random::new(self.parameters().seed, PURPOSE | u64::from(part));
        Pieces { plan: self, random, part, given: 0 }
    }
}

/// Items or stock rows in a piece.
const PIECE_ITEMS: u32 = 4000;
/// Pieces of a district: itself, its customers, its orders.
const DISTRICT_PIECES: u32 = 3;

/// One part of the database (the items, or a warehouse) in pieces of a few megabytes at most, for
/// whoever cannot take all of its rows at once.
#[derive(Debug)]
pub struct Pieces<'a> {
    plan: &'a Plan,
    random: Random,
    /// A warehouse, or zero for the items.
    part: u16,
    given: u32,
}

impl Pieces<'_> {
    /// Gives the rows of the next piece to `sink`; false when there was none left.
    pub fn next(&mut self, sink: impl FnMut(TableId, u64, &[u8])) -> bool {
        let scale = self.plan.parameters().scale;
        let item_pieces = scale.items.div_ceil(PIECE_ITEMS);
        let Self { plan, part, given, .. } = *self;
        let mut loader = Loader { plan, random: self.random.clone(), sink };
        if given < item_pieces {
            let first = given * PIECE_ITEMS + 1;
            let items = first..=scale.items.min(first + PIECE_ITEMS - 1);
            match part {
                0 => loader.items(items),
                _ if given == 0 => {
                    loader.warehouse(part);
                    loader.stock(part, items);
                }
                _ => loader.stock(part, items),
            }
        } else {
            let place = given - item_pieces;
            let district = (place / DISTRICT_PIECES) as u8 + 1;
            if part == 0 || district > DISTRICTS {
                return false;
            }
            match place % DISTRICT_PIECES {
                0 => loader.district(part, district),
                1 => loader.customers(part, district),
                _ => loader.orders(part, district),
            }
        }
        self.random = loader.random;
        self.given += 1;
        true
    }
}

/// The columns that warehouses, districts and customers share.
macro_rules! fill_address {
    ($row:expr, $random:expr) => {
        $row.set_street_1(Words::letters($random, 10..=20).bytes());
        $row.set_street_2(Words::letters($random, 10..=20).bytes());
        $row.set_city(Words::letters($random, 10..=20).bytes());
        $row.set_state(Words::state($random).bytes());
        $row.set_zip(&[Words::digits($random, 4).bytes(), b"11111"].concat());
    };
}

impl<S: FnMut(TableId, u64, &[u8])> Loader<'_, S> {
    fn add<R: Row>(&mut self, key: u64, row: &R) {
        (self.sink)(R::TABLE, key, row.bytes());
    }

    fn items(&mut self, numbers: RangeInclusive<u32>) {
        for number in numbers {
            let random = &mut self.random;
            let mut item = Item::zeroed();
            item.set_image(uniform(random, 1..=10_000) as u32);
            item.set_name(Words::letters(random, 14..=24).bytes());
            item.set_price_cents(uniform(random, 100..=10_000) as i64);
            item.set_data(Words::item_data(random).bytes());
            self.add(keys::item(number), &item);
        }
    }

    fn warehouse(&mut self, number: u16) {
        let random = &mut self.random;
        let mut warehouse = Warehouse::zeroed();
        warehouse.set_name(Words::letters(random, 6..=10).bytes());
        fill_address!(warehouse, random);
        warehouse.set_tax_e4(uniform(random, 0..=2000) as u32);
        // 300,000.00 at the scale of the specification.
        warehouse.set_ytd_cents(self.district_ytd_cents() * i64::from(DISTRICTS));
        self.add(keys::warehouse(number), &warehouse);
    }

    /// What the customers of a district paid: 30,000.00 at the scale of the specification.
    fn district_ytd_cents(&self) -> i64 {
        i64::from(self.plan.parameters().scale.customers) * 1000
    }

    fn stock(&mut self, warehouse: u16, items: RangeInclusive<u32>) {
        for item in items {
            let random = &mut self.random;
            let mut stock = Stock::zeroed();
            stock.set_quantity(uniform(random, 10..=100) as i64);
            stock.set_district_infos(Words::letters(random, 240..=240).bytes());
            stock.set_data(Words::item_data(random).bytes());
            self.add(keys::stock(warehouse, item), &stock);
        }
    }

    fn district(&mut self, warehouse: u16, number: u8) {
        let next_order = self.plan.parameters().scale.initial_orders() + 1;
        let random = &mut self.random;
        let mut district = District::zeroed();
        district.set_name(Words::letters(random, 6..=10).bytes());
        fill_address!(district, random);
        district.set_tax_e4(uniform(random, 0..=2000) as u32);
        district.set_ytd_cents(self.district_ytd_cents());
        district.set_next_order(next_order);
        self.add(keys::district(warehouse, number), &district);
    }

    fn customers(&mut self, warehouse: u16, district: u8) {
        let customers = self.plan.parameters().scale.customers;
        for number in 1..=customers {
            let name = self.name_of(number);
            let customer = self.customer(name);
            self.add(keys::customer(warehouse, district, number), &customer);
            let mut by_name = CustomerByName::zeroed();
            by_name.set_first(customer.first());
            self.add(keys::customer_by_name(warehouse, district, name, number), &by_name);
            let history = self.history(warehouse, district, number);
            let before = u64::from(warehouse) * u64::from(DISTRICTS) + u64::from(district);
            let sequence = before * u64::from(customers) + u64::from(number);
            self.add(keys::history(0, sequence), &history);
        }
    }

    /// The first customers have every last name once; the others draw theirs.
    fn name_of(&mut self, customer: u16) -> u16 {
        if customer <= NAMES {
            return customer - 1;
        }
        let parameters = self.plan.parameters();
        self.plan.constants().loaded_name(&mut self.random, &parameters.scale)
    }

    fn customer(&mut self, name: u16) -> Customer {
        let random = &mut self.random;
        let mut customer = Customer::zeroed();
        customer.set_balance_cents(-1000);
        customer.set_ytd_payment_cents(1000);
        customer.set_credit_limit_cents(5_000_000);
        customer.set_since(LOAD_DATE);
        customer.set_discount_e4(uniform(random, 0..=5000) as u32);
        customer.set_payments(1);
        let is_bad = draws::percent(random, 10);
        customer.set_credit(if is_bad { b"BC" } else { b"GC" });
        customer.set_first(Words::letters(random, 8..=16).bytes());
        customer.set_middle(b"OE");
        customer.set_last(draws::last_name(name).as_bytes());
        fill_address!(customer, random);
        customer.set_phone(Words::digits(random, 16).bytes());
        customer.set_data(Words::letters(random, 300..=500).bytes());
        customer
    }

    fn history(&mut self, warehouse: u16, district: u8, customer: u16) -> History {
        let mut history = History::zeroed();
        history.set_amount_cents(1000);
        history.set_date(LOAD_DATE);
        history.set_warehouse(warehouse);
        history.set_customer_warehouse(warehouse);
        history.set_customer(customer);
        history.set_district(district);
        history.set_customer_district(district);
        history.set_data(Words::letters(&mut self.random, 12..=24).bytes());
        history
    }

    /// One order per customer, in a random permutation of the customers.
    fn orders(&mut self, warehouse: u16, district: u8) {
        let scale = self.plan.parameters().scale;
        let mut customers: Vec<u16> = (1..=scale.customers).collect();
        shuffle(&mut customers, &mut self.random);
        for (number, customer) in (1..).zip(customers) {
            let is_delivered = number <= scale.initial_delivered();
            let mut order = Order::zeroed();
            order.set_entry_date(LOAD_DATE);
            order.set_customer(customer);
            if is_delivered {
                order.set_carrier(uniform(&mut self.random, 1..=10) as u8);
            }
            order.set_lines(uniform(&mut self.random, 5..=15) as u8);
            order.set_all_local(1);
            self.add(keys::order(warehouse, district, number), &order);
            let mut by_customer = OrderByCustomer::zeroed();
            by_customer.set_order(number.into());
            let key = keys::order_by_customer(warehouse, district, customer, number);
            self.add(key, &by_customer);
            for line in 1..=order.lines() {
                let row = self.order_line(warehouse, is_delivered);
                self.add(keys::order_line(warehouse, district, number, line), &row);
            }
            if !is_delivered {
                let mut new_order = NewOrder::zeroed();
                new_order.set_order(number.into());
                self.add(keys::order(warehouse, district, number), &new_order);
            }
        }
    }

    fn order_line(&mut self, warehouse: u16, is_delivered: bool) -> OrderLine {
        let items = u64::from(self.plan.parameters().scale.items);
        let random = &mut self.random;
        let mut line = OrderLine::zeroed();
        line.set_item(uniform(random, 1..=items) as u32);
        line.set_supply_warehouse(warehouse);
        line.set_quantity(5);
        if is_delivered {
            line.set_delivery_date(LOAD_DATE);
        } else {
            line.set_amount_cents(uniform(random, 1..=999_999) as i64);
        }
        line.set_district_info(Words::letters(random, 24..=24).bytes());
        line
    }
}

/// Every order of the elements alike (Fisher and Yates).
pub(super) fn shuffle<T>(elements: &mut [T], random: &mut Random) {
    for last in (1..elements.len()).rev() {
        elements.swap(last, random.below(last as u64 + 1) as usize);
    }
}
