//! What must hold on a trade-desk whenever nobody writes, whatever ran before.
//!
//! | invariant | what |
//! |---|---|
//! | conserved | all cash adds up to what there was, and so does every instrument |
//! | solvent | nobody has less than nothing |
//! | explained | cash and positions are the initial ones plus the account's legs |
//! | two legs | every trade has a buyer's and a seller's leg, of its quantity and price |
//! | no orphan fill | an order is filled if and only if one trade says so; each knows the other |
//! | volume | a quote's volume is the sum of its trades |
//! | open | the index of open orders has exactly the open orders |
//! | catalogue | the count of objects is right, and every object has its columns |
//!
//! Lost updates, torn commits and lost rows break them. They are no test of serialisability: what
//! a trade checks it also writes, so snapshot isolation keeps all of them too.

use std::collections::BTreeMap;
use std::fmt;

use super::inputs::{FIRST_CASH_CENTS, FIRST_QUANTITY, Parameters};
use super::procedures::COLUMNS;
use super::rows::{
    self, Cash, Catalogue, Column, FILLED, Leg, OPEN, Object, OpenOrder, Order, Position, Quote,
    Trade,
};
use crate::tables::{Direction, Row, Tables};

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its name in the table above.
    pub invariant: &'static str,
    /// Where, and what differs.
    pub difference: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "trade-desk invariant `{}`: {}", self.invariant, self.difference)
    }
}

/// Every row that the invariants speak about, by key.
#[derive(Clone, Debug)]
pub struct Ledger {
    quotes: BTreeMap<u64, Quote>,
    positions: BTreeMap<u64, Position>,
    cash: BTreeMap<u64, Cash>,
    orders: BTreeMap<u64, Order>,
    open_orders: BTreeMap<u64, OpenOrder>,
    trades: BTreeMap<u64, Trade>,
    legs: BTreeMap<u64, Leg>,
    catalogue: BTreeMap<u64, Catalogue>,
    objects: BTreeMap<u64, Object>,
    columns: BTreeMap<u64, Column>,
}

fn every<T: Tables, R: Row>(tables: &mut T) -> Result<BTreeMap<u64, R>, T::Abort> {
    let mut rows = BTreeMap::new();
    tables.scan_rows(0..=u64::MAX, Direction::Forward, usize::MAX, |key, row: &R| {
        rows.insert(key, row.clone());
    })?;
    Ok(rows)
}

impl Ledger {
    /// Reads all tables, once each.
    pub fn read<T: Tables>(tables: &mut T) -> Result<Self, T::Abort> {
        Ok(Self {
            quotes: every(tables)?,
            positions: every(tables)?,
            cash: every(tables)?,
            orders: every(tables)?,
            open_orders: every(tables)?,
            trades: every(tables)?,
            legs: every(tables)?,
            catalogue: every(tables)?,
            objects: every(tables)?,
            columns: every(tables)?,
        })
    }
}

/// Checks every invariant.
pub fn check(ledger: &Ledger, parameters: &Parameters) -> Vec<Violation> {
    let mut found = Found(Vec::new());
    found.conserved(ledger, parameters);
    found.explained(ledger);
    found.two_legs(ledger);
    found.fills(ledger);
    found.volume(ledger);
    found.open(ledger);
    found.catalogue(ledger);
    found.0
}

struct Found(Vec<Violation>);

impl Found {
    fn expect<T: PartialEq + fmt::Display>(
        &mut self,
        invariant: &'static str,
        what: impl FnOnce() -> String,
        is: T,
        expected: T,
    ) {
        if is != expected {
            let difference = format!("{} is {is} instead of {expected}", what());
            self.0.push(Violation { invariant, difference });
        }
    }

    fn conserved(&mut self, ledger: &Ledger, parameters: &Parameters) {
        let accounts = i64::from(parameters.accounts);
        let cash = ledger.cash.values().map(Cash::balance_cents).sum();
        self.expect("conserved", || "all cash".into(), cash, accounts * FIRST_CASH_CENTS);
        let mut held = vec![0; usize::from(parameters.instruments)];
        for (key, row) in &ledger.positions {
            match held.get_mut(usize::from(*key as u16)) {
                Some(held) => *held += row.quantity(),
                None => {
                    self.expect("conserved", || format!("position {key:#x}"), row.quantity(), 0)
                }
            }
        }
        for (instrument, quantity) in held.into_iter().enumerate() {
            let what = || format!("instrument {instrument}");
            self.expect("conserved", what, quantity, accounts * FIRST_QUANTITY);
        }
    }

    fn explained(&mut self, ledger: &Ledger) {
        let (mut cash, mut held) = (BTreeMap::new(), BTreeMap::new());
        for leg in ledger.legs.values() {
            *cash.entry(u64::from(leg.account())).or_insert(0) += leg.cash_cents();
            let key = rows::position(leg.account(), leg.instrument());
            *held.entry(key).or_insert(0) += leg.quantity();
        }
        for (key, row) in &ledger.cash {
            let what = || format!("cash of account {key}");
            let expected = FIRST_CASH_CENTS + cash.get(key).copied().unwrap_or(0);
            self.expect("explained", what, row.balance_cents(), expected);
            self.expect("solvent", what, row.balance_cents().min(0), 0);
        }
        for (key, row) in &ledger.positions {
            let what = || format!("account {}, instrument {}", key >> 16, *key as u16);
            let expected = FIRST_QUANTITY + held.get(key).copied().unwrap_or(0);
            self.expect("explained", what, row.quantity(), expected);
            self.expect("solvent", what, row.quantity().min(0), 0);
        }
    }

    fn two_legs(&mut self, ledger: &Ledger) {
        let legs = ledger.legs.len();
        self.expect("two legs", || "number of legs".into(), legs, 2 * ledger.trades.len());
        for (key, trade) in &ledger.trades {
            for (side, sign) in [(0, 1), (1, -1)] {
                let what = || format!("side {side} of trade {key:#x}");
                let Some(leg) = ledger.legs.get(&rows::leg(*key, side)) else {
                    self.expect("two legs", what, 0, 1);
                    continue;
                };
                self.expect("two legs", what, leg.quantity(), sign * trade.quantity());
                let cents = -sign * trade.quantity() * trade.price_cents();
                self.expect("two legs", what, leg.cash_cents(), cents);
            }
        }
    }

    fn fills(&mut self, ledger: &Ledger) {
        const NAME: &str = "no orphan fill";
        for (key, trade) in &ledger.trades {
            let order = ledger.orders.get(&trade.order());
            let filled_by = order.map_or(0, |order| order.trade());
            self.expect(NAME, || format!("filler of trade {key:#x}'s order"), filled_by, *key);
        }
        for (key, order) in &ledger.orders {
            let trade = ledger.trades.get(&order.trade());
            let has_trade = trade.is_some_and(|trade| trade.order() == *key);
            let what = || format!("order {key:#x} having a trade");
            self.expect(NAME, what, has_trade, order.state() == FILLED);
        }
    }

    fn volume(&mut self, ledger: &Ledger) {
        let mut volumes = BTreeMap::new();
        for trade in ledger.trades.values() {
            if let Some(order) = ledger.orders.get(&trade.order()) {
                *volumes.entry(u64::from(order.instrument())).or_insert(0) += trade.quantity();
            }
        }
        for (key, quote) in &ledger.quotes {
            let expected = volumes.get(key).copied().unwrap_or(0);
            self.expect("volume", || format!("volume of {key}"), quote.volume(), expected);
        }
    }

    fn open(&mut self, ledger: &Ledger) {
        let open: Vec<_> = ledger.orders.iter().filter(|(_, row)| row.state() == OPEN).collect();
        let rows = ledger.open_orders.len();
        self.expect("open", || "rows in the index".into(), rows, open.len());
        for (key, order) in open {
            let place = rows::open_order(order.instrument(), *key);
            let found = ledger.open_orders.get(&place).map_or(0, OpenOrder::order);
            self.expect("open", || format!("index entry of order {key:#x}"), found, *key);
        }
    }

    fn catalogue(&mut self, ledger: &Ledger) {
        const NAME: &str = "catalogue";
        let counted = ledger.catalogue.get(&0).map_or(0, Catalogue::objects);
        let objects = ledger.objects.len() as u64;
        self.expect(NAME, || "count of objects".into(), counted, objects);
        let columns = ledger.columns.len() as u64;
        self.expect(NAME, || "columns".into(), columns, objects * u64::from(COLUMNS));
    }
}
