//! The rows of TPC-C's nine tables and two secondary indexes, clause 1.3.
//!
//! Money is whole cents and rates are ten-thousandths, so that sums are exact; dates are the
//! numbers that the input gives, and zero where the specification has null. Columns of the key are
//! in the row only where a procedure needs them from there.

use crate::tables::{Fixed, TableSchema, Text, row};

row! {
    /// WAREHOUSE.
    Warehouse in TableId(0);
    ytd_cents, set_ytd_cents: i64;
    tax_e4, set_tax_e4: u32;
    name, set_name: Text<10>;
    street_1, set_street_1: Text<20>;
    street_2, set_street_2: Text<20>;
    city, set_city: Text<20>;
    state, set_state: Text<2>;
    zip, set_zip: Text<9>;
}

row! {
    /// DISTRICT.
    District in TableId(1);
    ytd_cents, set_ytd_cents: i64;
    tax_e4, set_tax_e4: u32;
    next_order, set_next_order: u32;
    name, set_name: Text<10>;
    street_1, set_street_1: Text<20>;
    street_2, set_street_2: Text<20>;
    city, set_city: Text<20>;
    state, set_state: Text<2>;
    zip, set_zip: Text<9>;
}

row! {
    /// CUSTOMER.
    Customer in TableId(2);
    balance_cents, set_balance_cents: i64;
    ytd_payment_cents, set_ytd_payment_cents: i64;
    credit_limit_cents, set_credit_limit_cents: i64;
    since, set_since: u64;
    discount_e4, set_discount_e4: u32;
    payments, set_payments: u32;
    deliveries, set_deliveries: u32;
    /// "GC" or "BC".
    credit, set_credit: Text<2>;
    first, set_first: Text<16>;
    middle, set_middle: Text<2>;
    last, set_last: Text<16>;
    street_1, set_street_1: Text<20>;
    street_2, set_street_2: Text<20>;
    city, set_city: Text<20>;
    state, set_state: Text<2>;
    zip, set_zip: Text<9>;
    phone, set_phone: Text<16>;
    data, set_data: Text<500>;
}

row! {
    /// The index on (C_W_ID, C_D_ID, C_LAST): it carries the first name, by which the rows of one
    /// last name are ordered, so that finding the middle one reads no customer.
    CustomerByName in TableId(3);
    first, set_first: Text<16>;
}

row! {
    /// HISTORY.
    History in TableId(4);
    amount_cents, set_amount_cents: i64;
    date, set_date: u64;
    warehouse, set_warehouse: u16;
    customer_warehouse, set_customer_warehouse: u16;
    customer, set_customer: u16;
    district, set_district: u8;
    customer_district, set_customer_district: u8;
    data, set_data: Text<24>;
}

row! {
    /// NEW-ORDER: the key says everything; the order number is repeated because a row has words.
    NewOrder in TableId(5);
    order, set_order: u64;
}

row! {
    /// ORDER.
    Order in TableId(6);
    entry_date, set_entry_date: u64;
    customer, set_customer: u16;
    /// Zero while not delivered.
    carrier, set_carrier: u8;
    lines, set_lines: u8;
    all_local, set_all_local: u8;
}

row! {
    /// The index on (O_W_ID, O_D_ID, O_C_ID, O_ID), for a customer's last order.
    OrderByCustomer in TableId(7);
    order, set_order: u64;
}

row! {
    /// ORDER-LINE.
    OrderLine in TableId(8);
    amount_cents, set_amount_cents: i64;
    /// Zero while not delivered.
    delivery_date, set_delivery_date: u64;
    item, set_item: u32;
    supply_warehouse, set_supply_warehouse: u16;
    quantity, set_quantity: u8;
    district_info, set_district_info: Text<24>;
}

row! {
    /// ITEM.
    Item in TableId(9);
    price_cents, set_price_cents: i64;
    image, set_image: u32;
    name, set_name: Text<24>;
    data, set_data: Text<50>;
}

row! {
    /// STOCK.
    Stock in TableId(10);
    quantity, set_quantity: i64;
    ytd, set_ytd: u64;
    orders, set_orders: u32;
    remote_orders, set_remote_orders: u32;
    /// S_DIST_01 to S_DIST_10, 24 bytes each.
    district_infos, set_district_infos: Fixed<240>;
    data, set_data: Text<50>;
}

impl Stock {
    /// S_DIST_xx of one district.
    pub fn district_info(&self, district: u8) -> &[u8] {
        let start = 24 * (usize::from(district) - 1);
        &self.district_infos()[start..start + 24]
    }
}

/// Every table, in the order of the numbers.
pub const TABLES: [TableSchema; 11] = [
    TableSchema::of::<Warehouse>("warehouse"),
    TableSchema::of::<District>("district"),
    TableSchema::of::<Customer>("customer"),
    TableSchema::of::<CustomerByName>("customer_by_name"),
    TableSchema::of::<History>("history"),
    TableSchema::of::<NewOrder>("new_order"),
    TableSchema::of::<Order>("orders"),
    TableSchema::of::<OrderByCustomer>("order_by_customer"),
    TableSchema::of::<OrderLine>("order_line"),
    TableSchema::of::<Item>("item"),
    TableSchema::of::<Stock>("stock"),
];
