//! Keys and rows of the trade-desk. Money is whole cents.
//!
//! | key | bits, from the top |
//! |---|---|
//! | account, cash | account 20 |
//! | instrument, quote | instrument 16 |
//! | position | account 20, instrument 16 |
//! | order | account 20, user 12, sequence 32 |
//! | open order | instrument 16, sequence 32, user 12 |
//! | trade | user 12, sequence 32 |
//! | leg | trade, side 1 |
//! | object | user 12, sequence 32 |
//! | column | object, number 8 |
//!
//! The sequence is the user's own count of actions, so keys never meet and nobody hands them out.

use std::ops::RangeInclusive;

use crate::tables::{TableSchema, row};

row! {
    /// What is traded, and its last price: a hot row for a popular instrument.
    Quote in TableId(0);
    last_cents, set_last_cents: i64;
    volume, set_volume: i64;
}

row! {
    /// How much of an instrument an account has.
    Position in TableId(1);
    quantity, set_quantity: i64;
}

row! {
    /// What an account has in cash.
    Cash in TableId(2);
    balance_cents, set_balance_cents: i64;
}

row! {
    /// An order: to be filled whole at its price, or not at all.
    Order in TableId(3);
    price_cents, set_price_cents: i64;
    quantity, set_quantity: i64;
    /// The trade that filled it; zero, which no trade is, while there is none.
    trade, set_trade: u64;
    account, set_account: u32;
    instrument, set_instrument: u16;
    is_sell, set_is_sell: u8;
    /// `OPEN`, `FILLED` or `CANCELLED`.
    state, set_state: u8;
}

row! {
    /// The index of open orders by instrument, about oldest first.
    OpenOrder in TableId(4);
    order, set_order: u64;
}

row! {
    /// An order that was filled.
    Trade in TableId(5);
    order, set_order: u64;
    price_cents, set_price_cents: i64;
    quantity, set_quantity: i64;
}

row! {
    /// What a trade did to one account: side 0 gets the instrument, side 1 gives it.
    Leg in TableId(6);
    cash_cents, set_cash_cents: i64;
    quantity, set_quantity: i64;
    account, set_account: u32;
    instrument, set_instrument: u16;
}

row! {
    /// The one row (key 0) that every change of the catalogue updates.
    Catalogue in TableId(7);
    version, set_version: u64;
    objects, set_objects: u64;
}

row! {
    /// A temporary table in the catalogue.
    Object in TableId(8);
    version, set_version: u64;
}

row! {
    /// A column of a temporary table.
    Column in TableId(9);
    kind, set_kind: u64;
}

/// An order that waits.
pub const OPEN: u8 = 0;
/// An order with a trade.
pub const FILLED: u8 = 1;
/// An order that was taken back, or whose owner could not pay or deliver.
pub const CANCELLED: u8 = 2;

/// Every table, in the order of the numbers.
pub const TABLES: [TableSchema; 10] = [
    TableSchema::of::<Quote>("quote"),
    TableSchema::of::<Position>("position"),
    TableSchema::of::<Cash>("cash"),
    TableSchema::of::<Order>("orders"),
    TableSchema::of::<OpenOrder>("open_order"),
    TableSchema::of::<Trade>("trade"),
    TableSchema::of::<Leg>("leg"),
    TableSchema::of::<Catalogue>("catalogue"),
    TableSchema::of::<Object>("catalogue_object"),
    TableSchema::of::<Column>("catalogue_column"),
];

const USER_BITS: u32 = 12;
const SEQUENCE_BITS: u32 = 32;
const INSTRUMENT_BITS: u32 = 16;
const OWN_BITS: u32 = USER_BITS + SEQUENCE_BITS;

/// An account's position.
pub const fn position(account: u32, instrument: u16) -> u64 {
    (account as u64) << INSTRUMENT_BITS | instrument as u64
}

/// All positions of an account.
pub const fn positions(account: u32) -> RangeInclusive<u64> {
    position(account, 0)..=position(account, u16::MAX)
}

/// A trade, an object: what a user's action made.
pub const fn own(user: u16, sequence: u32) -> u64 {
    (user as u64) << SEQUENCE_BITS | sequence as u64
}

/// An order.
pub const fn order(account: u32, user: u16, sequence: u32) -> u64 {
    (account as u64) << OWN_BITS | own(user, sequence)
}

/// All orders of an account.
pub const fn orders(account: u32) -> RangeInclusive<u64> {
    order(account, 0, 0)..=order(account, 0, 0) | ((1 << OWN_BITS) - 1)
}

/// The place of an order among the open ones of its instrument.
pub const fn open_order(instrument: u16, order: u64) -> u64 {
    let sequence = order & ((1 << SEQUENCE_BITS) - 1);
    let user = (order >> SEQUENCE_BITS) & ((1 << USER_BITS) - 1);
    (instrument as u64) << OWN_BITS | sequence << USER_BITS | user
}

/// All open orders of an instrument.
pub const fn open_orders(instrument: u16) -> RangeInclusive<u64> {
    let first = (instrument as u64) << OWN_BITS;
    first..=first | ((1 << OWN_BITS) - 1)
}

/// One side of a trade.
pub const fn leg(trade: u64, side: u8) -> u64 {
    trade << 1 | side as u64
}

/// A column of an object.
pub const fn column(object: u64, number: u8) -> u64 {
    object << 8 | number as u64
}
