//! The transactions of the trade-desk over any tables. A refusal (no cash, nothing open) commits.

use super::inputs::{Input, Placement};
use super::rows::{
    self, CANCELLED, Cash, Catalogue, Column, FILLED, Leg, OPEN, Object, OpenOrder, Order,
    Position, Quote, Trade,
};
use crate::tables::{Direction, Row, Tables};

/// Columns of a temporary table.
pub const COLUMNS: u8 = 4;
/// Orders of an account that a cancellation looks through.
pub const CANCEL_LIMIT: usize = 10;
/// Open orders that a look at the depth adds up.
pub const DEPTH_LIMIT: usize = 20;

/// What a transaction did or showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order waits, the trade is done, the order is taken back, the catalogue is changed.
    Done,
    /// There was nothing to do it with: no open order, not enough cash, not enough to sell.
    Refused,
    /// What an account has, at the last prices, with its cash.
    Worth {
        /// The sum.
        cents: i64,
    },
    /// Open quantities.
    Depth {
        /// Wanted.
        buy: i64,
        /// Offered.
        sell: i64,
    },
}

/// Runs one transaction's procedure.
pub fn run<T: Tables>(tables: &mut T, input: &Input) -> Result<Outcome, T::Abort> {
    match *input {
        Input::PlaceOrder(placement) => place_order(tables, placement),
        Input::Trade { account, instrument, own } => {
            trade(tables, account, instrument, rows::own(own.0, own.1))
        }
        Input::Cancel { account } => cancel(tables, account),
        Input::Portfolio { account } => portfolio(tables, account),
        Input::Depth { instrument } => depth(tables, instrument),
        Input::CreateTemporary { object } => create_temporary(tables, object),
        Input::DropTemporary { object } => drop_temporary(tables, object),
        Input::Report => Ok(Outcome::Done),
    }
}

fn place_order<T: Tables>(tables: &mut T, placement: Placement) -> Result<Outcome, T::Abort> {
    let Placement { account, instrument, is_sell, quantity, distance_e4, own } = placement;
    let last_cents = tables.get::<Quote>(instrument.into())?.last_cents();
    let mut order = Order::zeroed();
    order.set_price_cents((last_cents + last_cents * distance_e4 / 10_000).max(1));
    order.set_quantity(quantity);
    order.set_account(account);
    order.set_instrument(instrument);
    order.set_is_sell(is_sell.into());
    order.set_state(OPEN);
    if !can_settle(tables, &order, account, is_sell)? {
        return Ok(Outcome::Refused);
    }
    let key = rows::order(account, own.0, own.1);
    tables.add(key, &order)?;
    let mut open = OpenOrder::zeroed();
    open.set_order(key);
    tables.add(rows::open_order(instrument, key), &open)?;
    Ok(Outcome::Done)
}

/// Whether an account has what its side of an order takes.
fn can_settle<T: Tables>(
    tables: &mut T,
    order: &Order,
    account: u32,
    is_sell: bool,
) -> Result<bool, T::Abort> {
    if is_sell {
        let held: Position = tables.get(rows::position(account, order.instrument()))?;
        return Ok(held.quantity() >= order.quantity());
    }
    let cash: Cash = tables.get(account.into())?;
    Ok(cash.balance_cents() >= order.price_cents() * order.quantity())
}

/// Fills the oldest open order; cancels it when its owner cannot pay or deliver any more.
fn trade<T: Tables>(
    tables: &mut T,
    account: u32,
    instrument: u16,
    trade: u64,
) -> Result<Outcome, T::Abort> {
    let waiting = rows::open_orders(instrument);
    let Some((place, open)) = tables.first::<OpenOrder>(waiting, Direction::Forward)? else {
        return Ok(Outcome::Refused);
    };
    let order: Order = tables.get(open.order())?;
    let (owner, is_sell) = (order.account(), order.is_sell() == 1);
    if owner == account || !can_settle(tables, &order, account, !is_sell)? {
        return Ok(Outcome::Refused);
    }
    tables.remove::<OpenOrder>(place)?;
    if !can_settle(tables, &order, owner, is_sell)? {
        tables.update(open.order(), |order: &mut Order| order.set_state(CANCELLED))?;
        return Ok(Outcome::Refused);
    }
    tables.update(open.order(), |order: &mut Order| {
        order.set_state(FILLED);
        order.set_trade(trade);
    })?;
    let mut row = Trade::zeroed();
    row.set_order(open.order());
    row.set_price_cents(order.price_cents());
    row.set_quantity(order.quantity());
    tables.add(trade, &row)?;
    let (buyer, seller) = if is_sell { (account, owner) } else { (owner, account) };
    settle(tables, &order, trade, buyer, 0)?;
    settle(tables, &order, trade, seller, 1)?;
    tables.update(instrument.into(), |quote: &mut Quote| {
        quote.set_last_cents(order.price_cents());
        quote.set_volume(quote.volume() + order.quantity());
    })?;
    Ok(Outcome::Done)
}

/// Moves one account's side: the buyer's is 0, the seller's 1.
fn settle<T: Tables>(
    tables: &mut T,
    order: &Order,
    trade: u64,
    account: u32,
    side: u8,
) -> Result<(), T::Abort> {
    let sign = 1 - 2 * i64::from(side);
    let mut leg = Leg::zeroed();
    leg.set_quantity(sign * order.quantity());
    leg.set_cash_cents(-sign * order.quantity() * order.price_cents());
    leg.set_account(account);
    leg.set_instrument(order.instrument());
    tables.add(rows::leg(trade, side), &leg)?;
    let key = rows::position(account, order.instrument());
    tables.update(key, |held: &mut Position| {
        held.set_quantity(held.quantity() + leg.quantity());
    })?;
    tables.update(account.into(), |cash: &mut Cash| {
        cash.set_balance_cents(cash.balance_cents() + leg.cash_cents());
    })?;
    Ok(())
}

fn cancel<T: Tables>(tables: &mut T, account: u32) -> Result<Outcome, T::Abort> {
    let mut newest = None;
    let own = rows::orders(account);
    tables.scan_rows(own, Direction::Backward, CANCEL_LIMIT, |key, order: &Order| {
        if order.state() == OPEN && newest.is_none() {
            newest = Some((key, order.instrument()));
        }
    })?;
    let Some((key, instrument)) = newest else {
        return Ok(Outcome::Refused);
    };
    tables.update(key, |order: &mut Order| order.set_state(CANCELLED))?;
    tables.remove::<OpenOrder>(rows::open_order(instrument, key))?;
    Ok(Outcome::Done)
}

fn portfolio<T: Tables>(tables: &mut T, account: u32) -> Result<Outcome, T::Abort> {
    let mut cents = tables.get::<Cash>(account.into())?.balance_cents();
    let mut held = Vec::new();
    let own = rows::positions(account);
    tables.scan_rows(own, Direction::Forward, usize::MAX, |key, row: &Position| {
        held.push((key & u64::from(u16::MAX), row.quantity()));
    })?;
    for (instrument, quantity) in held {
        cents += quantity * tables.get::<Quote>(instrument)?.last_cents();
    }
    Ok(Outcome::Worth { cents })
}

fn depth<T: Tables>(tables: &mut T, instrument: u16) -> Result<Outcome, T::Abort> {
    let mut open = Vec::with_capacity(DEPTH_LIMIT);
    let waiting = rows::open_orders(instrument);
    tables.scan_rows(waiting, Direction::Forward, DEPTH_LIMIT, |_, row: &OpenOrder| {
        open.push(row.order());
    })?;
    let (mut buy, mut sell) = (0, 0);
    for key in open {
        let order: Order = tables.get(key)?;
        *(if order.is_sell() == 1 { &mut sell } else { &mut buy }) += order.quantity();
    }
    Ok(Outcome::Depth { buy, sell })
}

fn create_temporary<T: Tables>(tables: &mut T, object: u64) -> Result<Outcome, T::Abort> {
    let catalogue = tables.update(0, |row: &mut Catalogue| {
        row.set_version(row.version() + 1);
        row.set_objects(row.objects() + 1);
    })?;
    let mut row = Object::zeroed();
    row.set_version(catalogue.version());
    tables.add(object, &row)?;
    for number in 0..COLUMNS {
        let mut column = Column::zeroed();
        column.set_kind(number.into());
        tables.add(rows::column(object, number), &column)?;
    }
    Ok(Outcome::Done)
}

fn drop_temporary<T: Tables>(tables: &mut T, object: u64) -> Result<Outcome, T::Abort> {
    tables.update(0, |row: &mut Catalogue| {
        row.set_version(row.version() + 1);
        row.set_objects(row.objects() - 1);
    })?;
    for number in 0..COLUMNS {
        tables.remove::<Column>(rows::column(object, number))?;
    }
    tables.remove::<Object>(object)?;
    Ok(Outcome::Done)
}
