//! A trade: the oldest open order of an instrument is filled, or taken away when its owner cannot
//! pay or deliver any more.

use assay_wire::WireError;
use assay_wire::sql::Session;
use assay_workload::trade_desk::Outcome;
use assay_workload::trade_desk::rows::{CANCELLED, FILLED};

use super::{Desk, int, missing};
use crate::columns::{int as int_of, narrow};
use crate::trade_desk::DeskError;
use crate::trade_desk::statements::Query;

/// The order that is to be filled.
#[derive(Clone, Copy, Debug)]
struct Order {
    place: i64,
    id: i64,
    account: u32,
    is_sell: bool,
    price_cents: i64,
    quantity: i64,
}

/// What an account has.
#[derive(Clone, Copy, Debug)]
struct Means {
    cents: i64,
    quantity: i64,
}

impl Order {
    /// Whether an account has what one side of it takes.
    fn can_be_settled(&self, means: Means, is_sell: bool) -> bool {
        if is_sell {
            means.quantity >= self.quantity
        } else {
            means.cents >= self.price_cents * self.quantity
        }
    }
}

impl<S: Session> Desk<S> {
    pub(super) async fn trade(
        &mut self,
        account: u32,
        instrument: u16,
        trade: i64,
    ) -> Result<Outcome, DeskError> {
        self.begin().await?;
        let outcome = match self.oldest(instrument).await? {
            Some(order) if order.account != account => {
                self.fill(account, instrument, trade, &order).await?
            }
            _ => Outcome::Refused,
        };
        self.commit().await?;
        Ok(outcome)
    }

    async fn fill(
        &mut self,
        account: u32,
        instrument: u16,
        trade: i64,
        order: &Order,
    ) -> Result<Outcome, DeskError> {
        let [filler, owner] = self.means([account, order.account], instrument).await?;
        if !order.can_be_settled(filler, !order.is_sell) {
            return Ok(Outcome::Refused);
        }
        self.change(Query::Close, &[int(instrument), int(order.place)], 1).await?;
        if !order.can_be_settled(owner, order.is_sell) {
            self.change(Query::Mark, &[int(CANCELLED), int(0), int(order.id)], 1).await?;
            return Ok(Outcome::Refused);
        }
        self.change(Query::Mark, &[int(FILLED), int(trade), int(order.id)], 1).await?;
        let (buyer, seller) =
            if order.is_sell { (account, order.account) } else { (order.account, account) };
        self.settle(order, instrument, trade, buyer, seller).await?;
        Ok(Outcome::Done)
    }

    async fn oldest(&mut self, instrument: u16) -> Result<Option<Order>, WireError> {
        let mut oldest = None;
        self.ask(Query::Oldest, &[int(instrument)], |row| {
            oldest = Some(Order {
                place: int_of(row, 0)?,
                id: int_of(row, 1)?,
                account: narrow(row, 2)?,
                is_sell: int_of(row, 3)? == 1,
                price_cents: int_of(row, 4)?,
                quantity: int_of(row, 5)?,
            });
            Ok(())
        })
        .await?;
        Ok(oldest)
    }

    /// What two accounts have, which nobody else can change any more.
    async fn means(
        &mut self,
        accounts: [u32; 2],
        instrument: u16,
    ) -> Result<[Means; 2], DeskError> {
        let mut found = [None; 2];
        let values = [int(instrument), int(accounts[0]), int(accounts[1])];
        self.ask(Query::Accounts, &values, |row| {
            let (account, cents, quantity) = (int_of(row, 0)?, int_of(row, 1)?, int_of(row, 2)?);
            for (place, wanted) in found.iter_mut().zip(accounts) {
                if account == i64::from(wanted) {
                    *place = Some(Means { cents, quantity });
                }
            }
            Ok(())
        })
        .await?;
        let [filler, owner] = found;
        let filler = filler.ok_or_else(|| missing(accounts[0], instrument))?;
        Ok([filler, owner.ok_or_else(|| missing(accounts[1], instrument))?])
    }

    /// The trade with its legs, and what they move.
    async fn settle(
        &mut self,
        order: &Order,
        instrument: u16,
        trade: i64,
        buyer: u32,
        seller: u32,
    ) -> Result<(), WireError> {
        let Order { price_cents, quantity, .. } = *order;
        let cents = price_cents * quantity;
        let row = [int(trade), int(order.id), int(price_cents), int(quantity)];
        self.change(Query::AddTrade, &row, 1).await?;
        let legs = [
            [int(trade), int(buyer), int(instrument), int(-cents), int(quantity)],
            [int(trade), int(seller), int(instrument), int(cents), int(-quantity)],
        ];
        self.change(Query::AddLegs, legs.as_flattened(), 2).await?;
        let [buyer, seller] = [int(buyer), int(seller)];
        let moved = [buyer, int(quantity), int(-quantity), buyer, seller, int(instrument)];
        self.change(Query::Deliver, &moved, 2).await?;
        self.change(Query::Pay, &[buyer, int(-cents), int(cents), buyer, seller], 2).await?;
        self.change(Query::Tick, &[int(price_cents), int(quantity), int(instrument)], 1).await
    }
}
