//! How TPC-C's composite keys are packed into one number each.
//!
//! The most significant part comes first, so that the order of the numbers is the order of the
//! columns, and all rows of a warehouse, a district, a customer or an order are one range.
//!
//! | key | bits, from the top |
//! |---|---|
//! | district | warehouse 16, district 4 |
//! | customer | district, customer 12 |
//! | customer by name | district, last name 10, customer 12 |
//! | order, new order | district, order 28 |
//! | order by customer | customer, order 28 |
//! | order line | order, line 4 |
//! | stock | warehouse 16, item 20 |
//! | history | writer 24, sequence 40 |
//!
//! The specification gives history no key. Here it is the writer (0 the loader, else a thread
//! plus one) and that writer's own count; the rows of one warehouse are therefore not one range.

use std::ops::RangeInclusive;

const DISTRICT_BITS: u32 = 4;
const CUSTOMER_BITS: u32 = 12;
const NAME_BITS: u32 = 10;
const ORDER_BITS: u32 = 28;
const LINE_BITS: u32 = 4;
const ITEM_BITS: u32 = 20;
const SEQUENCE_BITS: u32 = 40;

/// The largest order number that a key can hold.
pub const ORDER_MAX: u32 = (1 << ORDER_BITS) - 1;

const fn low(key: u64, bits: u32) -> u64 {
    key & ((1 << bits) - 1)
}

/// Every key of any table.
pub const ALL: RangeInclusive<u64> = 0..=u64::MAX;

/// A warehouse.
pub const fn warehouse(warehouse: u16) -> u64 {
    warehouse as u64
}

/// A district.
pub const fn district(warehouse: u16, district: u8) -> u64 {
    (warehouse as u64) << DISTRICT_BITS | district as u64
}

/// A customer.
pub const fn customer(warehouse: u16, district_number: u8, customer: u16) -> u64 {
    district(warehouse, district_number) << CUSTOMER_BITS | customer as u64
}

/// A customer in the index by last name.
pub const fn customer_by_name(
    warehouse: u16,
    district_number: u8,
    name: u16,
    customer: u16,
) -> u64 {
    let named = district(warehouse, district_number) << NAME_BITS | name as u64;
    named << CUSTOMER_BITS | customer as u64
}

/// All customers of a district with one last name, in the index by name.
pub const fn customers_named(warehouse: u16, district: u8, name: u16) -> RangeInclusive<u64> {
    let first = customer_by_name(warehouse, district, name, 0);
    first..=first | ((1 << CUSTOMER_BITS) - 1)
}

/// The customer number at the end of a key by name.
pub const fn customer_of_name(key: u64) -> u16 {
    low(key, CUSTOMER_BITS) as u16
}

/// An order, also in the table of new orders.
pub const fn order(warehouse: u16, district_number: u8, order: u32) -> u64 {
    district(warehouse, district_number) << ORDER_BITS | order as u64
}

/// All orders of a district.
pub const fn orders(warehouse: u16, district: u8) -> RangeInclusive<u64> {
    order(warehouse, district, 0)..=order(warehouse, district, ORDER_MAX)
}

/// The order number at the end of an order's key.
pub const fn order_number(key: u64) -> u32 {
    low(key, ORDER_BITS) as u32
}

/// The district of an order's key.
pub const fn district_of_order(key: u64) -> u64 {
    key >> ORDER_BITS
}

/// An order in the index by customer.
pub const fn order_by_customer(
    warehouse: u16,
    district: u8,
    customer_number: u16,
    order: u32,
) -> u64 {
    customer(warehouse, district, customer_number) << ORDER_BITS | order as u64
}

/// All orders of a customer, in the index by customer.
pub const fn orders_of(warehouse: u16, district: u8, customer: u16) -> RangeInclusive<u64> {
    let first = order_by_customer(warehouse, district, customer, 0);
    first..=first | ORDER_MAX as u64
}

/// A line of an order.
pub const fn order_line(warehouse: u16, district: u8, order_number: u32, line: u8) -> u64 {
    order(warehouse, district, order_number) << LINE_BITS | line as u64
}

/// The lines of a range of orders of one district.
pub const fn lines(warehouse: u16, district: u8, first: u32, last: u32) -> RangeInclusive<u64> {
    order_line(warehouse, district, first, 0)..=order_line(warehouse, district, last, 15)
}

/// The order of a line's key.
pub const fn order_of_line(key: u64) -> u64 {
    key >> LINE_BITS
}

/// An item's stock in a warehouse.
pub const fn stock(warehouse: u16, item: u32) -> u64 {
    (warehouse as u64) << ITEM_BITS | item as u64
}

/// An item.
pub const fn item(item: u32) -> u64 {
    item as u64
}

/// A row of history.
pub const fn history(writer: u32, sequence: u64) -> u64 {
    (writer as u64) << SEQUENCE_BITS | low(sequence, SEQUENCE_BITS)
}

/// The line's number at the end of a line's key.
pub const fn line_number(key: u64) -> u8 {
    low(key, LINE_BITS) as u8
}

/// Warehouse and item of a stock's key.
pub const fn split_stock(key: u64) -> (u16, u32) {
    ((key >> ITEM_BITS) as u16, low(key, ITEM_BITS) as u32)
}

/// Writer and sequence of a key of history.
pub const fn split_history(key: u64) -> (u32, u64) {
    ((key >> SEQUENCE_BITS) as u32, low(key, SEQUENCE_BITS))
}

/// Warehouse and district of a district's key.
pub const fn split_district(key: u64) -> (u16, u8) {
    ((key >> DISTRICT_BITS) as u16, low(key, DISTRICT_BITS) as u8)
}

/// District's key and customer number of a customer's key.
pub const fn split_customer(key: u64) -> (u64, u16) {
    (key >> CUSTOMER_BITS, low(key, CUSTOMER_BITS) as u16)
}

/// The customer's key of a key by name.
pub const fn customer_of_key_by_name(key: u64) -> u64 {
    let district = key >> (NAME_BITS + CUSTOMER_BITS);
    district << CUSTOMER_BITS | low(key, CUSTOMER_BITS)
}

/// The customer's key and the order's key of a key in the index of orders by customer.
pub const fn split_order_by_customer(key: u64) -> (u64, u64) {
    let customer = key >> ORDER_BITS;
    let district = customer >> CUSTOMER_BITS;
    (customer, district << ORDER_BITS | low(key, ORDER_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_numbers_is_the_order_of_the_columns() {
        assert!(order_line(1, 10, ORDER_MAX, 15) < order_line(2, 1, 1, 1));
        assert!(order_line(1, 2, ORDER_MAX, 15) < order_line(1, 3, 1, 1));
        assert!(order_line(1, 2, 6, 15) < order_line(1, 2, 7, 1));
        assert!(customer_by_name(1, 2, 6, 4095) < customer_by_name(1, 2, 7, 1));
        assert!(order_by_customer(1, 2, 6, ORDER_MAX) < order_by_customer(1, 2, 7, 1));
        assert!(stock(1, 100_001) < stock(2, 1));
    }

    #[test]
    fn keys_come_apart_again_at_the_largest_numbers() {
        let line = order_line(u16::MAX, 10, ORDER_MAX, 15);
        let order_key = order_of_line(line);
        assert_eq!(order_key, order(u16::MAX, 10, ORDER_MAX));
        assert_eq!(order_number(order_key), ORDER_MAX);
        assert_eq!(split_district(district_of_order(order_key)), (u16::MAX, 10));
        let by_name = customer_by_name(u16::MAX, 10, 999, 3000);
        assert_eq!(customer_of_name(by_name), 3000);
        assert_eq!(customer_of_key_by_name(by_name), customer(u16::MAX, 10, 3000));
        assert_eq!(split_customer(customer(7, 10, 3000)), (district(7, 10), 3000));
        let by_customer = order_by_customer(u16::MAX, 10, 3000, ORDER_MAX);
        assert_eq!(line_number(line), 15);
        assert_eq!(split_stock(stock(u16::MAX, 100_001)), (u16::MAX, 100_001));
        let last = (1 << 40) - 1;
        assert_eq!(split_history(history((1 << 24) - 1, last)), ((1 << 24) - 1, last));
        let parts = (customer(u16::MAX, 10, 3000), order(u16::MAX, 10, ORDER_MAX));
        assert_eq!(split_order_by_customer(by_customer), parts);
    }

    #[test]
    fn ranges_hold_their_rows_and_no_neighbours() {
        assert!(customers_named(3, 4, 5).contains(&customer_by_name(3, 4, 5, 4095)));
        assert!(!customers_named(3, 4, 5).contains(&customer_by_name(3, 4, 6, 0)));
        assert!(orders_of(3, 4, 5).contains(&order_by_customer(3, 4, 5, ORDER_MAX)));
        assert!(!orders_of(3, 4, 5).contains(&order_by_customer(3, 4, 6, 0)));
        assert!(!orders(3, 4).contains(&order(3, 5, 0)));
        assert!(!lines(3, 4, 7, 9).contains(&order_line(3, 4, 10, 0)));
    }
}
