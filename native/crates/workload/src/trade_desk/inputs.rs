//! Parameters, initial rows and requests of the trade-desk.

use std::ops::Range;
use std::time::Duration;

use super::rows::{Cash, Catalogue, Position, Quote, position};
use crate::WorkloadError;
use crate::tables::{Row, TableId};
use crate::zipf::Zipf;
use assay_random::Random;

/// Everything that decides the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Concurrent users, each a closed loop with waits. Little's law gives the most they can ask
    /// for: users / (response + think time).
    pub users: u16,
    /// Accounts, each alike.
    pub accounts: u32,
    /// Instruments, chosen by Zipf.
    pub instruments: u16,
    /// Zipf skew of the instruments.
    pub theta: f64,
    /// The dial: the probability that an action comes with a temporary table.
    pub catalogue_share: f64,
    /// The probability that an action is followed by a report.
    pub report_share: f64,
    /// The constant wait after a trade.
    pub trade_think_time: Duration,
    /// The constant wait after any other action.
    pub request_think_time: Duration,
    /// The seed of everything.
    pub seed: u64,
}

impl Parameters {
    /// Refuses what cannot be generated.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let Self { users, accounts, instruments, theta, catalogue_share, report_share, .. } = self;
        check((1..=4096).contains(users), "users", users, "from 1 to 4096")?;
        check((2..=1 << 20).contains(accounts), "accounts", accounts, "from 2 to 1048576")?;
        check((2..).contains(instruments), "instruments", instruments, "from 2 to 65535")?;
        check(*theta > 0.0 && *theta < 1.0, "theta", theta, "between 0 and 1")?;
        let shares = [("catalogue_share", catalogue_share), ("report_share", report_share)];
        shares.into_iter().try_for_each(|(name, share)| {
            check((0.0..=1.0).contains(share), name, share, "from 0 to 1")
        })
    }
}

fn check(
    is_good: bool,
    name: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), WorkloadError> {
    if is_good {
        return Ok(());
    }
    Err(WorkloadError::OutOfRange { name, value: value.to_string(), allowed })
}

/// An order to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Whose order.
    pub account: u32,
    /// Of what.
    pub instrument: u16,
    /// Whether it is to be sold.
    pub is_sell: bool,
    /// How much.
    pub quantity: i64,
    /// The price's distance from the last one, in ten-thousandths.
    pub distance_e4: i64,
    /// The key's user and sequence.
    pub own: (u16, u32),
}

/// One transaction, ready to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Offers or asks for an instrument.
    PlaceOrder(Placement),
    /// Fills the oldest open order of an instrument.
    Trade {
        /// Who fills it.
        account: u32,
        /// Of what.
        instrument: u16,
        /// The key's user and sequence.
        own: (u16, u32),
    },
    /// Takes back the last open order, in the order of keys, among an account's last ten orders.
    Cancel {
        /// Whose order.
        account: u32,
    },
    /// Values what an account has.
    Portfolio {
        /// Whose.
        account: u32,
    },
    /// Adds up the oldest open orders of an instrument.
    Depth {
        /// Of what.
        instrument: u16,
    },
    /// Adds a temporary table to the catalogue.
    CreateTemporary {
        /// Its key.
        object: u64,
    },
    /// Removes it.
    DropTemporary {
        /// Its key.
        object: u64,
    },
    /// Adds up prices of the past. They are in no table of the desk: whoever runs this gives it to
    /// its engine for queries.
    Report,
}

/// What a transaction is for, without its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `Input::PlaceOrder`.
    PlaceOrder,
    /// `Input::Trade`.
    Trade,
    /// `Input::Cancel`.
    Cancel,
    /// `Input::Portfolio`.
    Portfolio,
    /// `Input::Depth`.
    Depth,
    /// `Input::CreateTemporary`.
    CreateTemporary,
    /// `Input::DropTemporary`.
    DropTemporary,
    /// `Input::Report`.
    Report,
}

impl Kind {
    /// Every kind, in the order of the discriminants.
    pub const ALL: [Kind; 8] = [
        Kind::PlaceOrder,
        Kind::Trade,
        Kind::Cancel,
        Kind::Portfolio,
        Kind::Depth,
        Kind::CreateTemporary,
        Kind::DropTemporary,
        Kind::Report,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PlaceOrder => "place_order",
            Kind::Trade => "trade",
            Kind::Cancel => "cancel",
            Kind::Portfolio => "portfolio",
            Kind::Depth => "depth",
            Kind::CreateTemporary => "create_temporary",
            Kind::DropTemporary => "drop_temporary",
            Kind::Report => "report",
        }
    }

    /// Whether it writes nothing.
    pub fn is_read_only(self) -> bool {
        matches!(self, Kind::Portfolio | Kind::Depth | Kind::Report)
    }
}

impl Input {
    /// What it is for.
    pub fn kind(&self) -> Kind {
        match self {
            Input::PlaceOrder(_) => Kind::PlaceOrder,
            Input::Trade { .. } => Kind::Trade,
            Input::Cancel { .. } => Kind::Cancel,
            Input::Portfolio { .. } => Kind::Portfolio,
            Input::Depth { .. } => Kind::Depth,
            Input::CreateTemporary { .. } => Kind::CreateTemporary,
            Input::DropTemporary { .. } => Kind::DropTemporary,
            Input::Report => Kind::Report,
        }
    }
}

/// A transaction and the wait after it. Whoever runs it does the waiting, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The transaction.
    pub input: Input,
    /// After it.
    pub think_time: Duration,
}

/// Shares of place, trade, cancel and portfolio in percent; the rest is depth. Own choice.
const SHARES: [u64; 4] = [40, 30, 5, 15];
/// What every account has of every instrument at the start.
pub const FIRST_QUANTITY: i64 = 100;
/// What every account has in cash at the start.
pub const FIRST_CASH_CENTS: i64 = 10_000_000;
const PURPOSE: u64 = 0x6465_736B << 32;
const PURPOSE_LOAD: u64 = PURPOSE | 1 << 31;

/// The inputs of a whole run, and the tables that they are made for.
#[derive(Clone, Debug)]
pub struct Plan {
    parameters: Parameters,
    zipf: Zipf,
}

impl Plan {
    /// Checks the parameters.
    pub fn new(parameters: Parameters) -> Result<Self, WorkloadError> {
        parameters.validate()?;
        let zipf = Zipf::new(parameters.instruments.into(), parameters.theta);
        Ok(Self { parameters, zipf })
    }

    /// What this was made from.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Gives every initial row to `sink`.
    pub fn load(&self, mut sink: impl FnMut(TableId, u64, &[u8])) {
        self.load_quotes(&mut sink);
        self.load_accounts(0..self.parameters.accounts, &mut sink);
        sink(Catalogue::TABLE, 0, Catalogue::zeroed().bytes());
    }

    /// Gives the quote of every instrument to `sink`.
    pub fn load_quotes(&self, mut sink: impl FnMut(TableId, u64, &[u8])) {
        let mut random = Random::new(self.parameters.seed, PURPOSE_LOAD);
        for instrument in 0..self.parameters.instruments {
            let mut quote = Quote::zeroed();
            quote.set_last_cents(100 + random.below(100_000) as i64);
            sink(Quote::TABLE, instrument.into(), quote.bytes());
        }
    }

    /// Gives what some accounts have to `sink`: these rows do not depend on others.
    pub fn load_accounts(&self, accounts: Range<u32>, mut sink: impl FnMut(TableId, u64, &[u8])) {
        let (mut cash, mut held) = (Cash::zeroed(), Position::zeroed());
        cash.set_balance_cents(FIRST_CASH_CENTS);
        held.set_quantity(FIRST_QUANTITY);
        for account in accounts {
            sink(Cash::TABLE, account.into(), cash.bytes());
            for instrument in 0..self.parameters.instruments {
                sink(Position::TABLE, position(account, instrument), held.bytes());
            }
        }
    }

    /// The endless inputs of one user, from 0. A second stream of the same user over the same
    /// tables would repeat its keys.
    pub fn stream(&self, user: u16) -> Stream {
        assert!(user < self.parameters.users, "user {user} of {}", self.parameters.users);
        let random = Random::new(self.parameters.seed, PURPOSE | u64::from(user));
        Stream { plan: self.clone(), random, user, sequence: 0, waiting: Vec::new() }
    }
}

/// The inputs of one user.
#[derive(Clone, Debug)]
pub struct Stream {
    plan: Plan,
    random: Random,
    user: u16,
    sequence: u32,
    /// What is left of an action that came with a report or a temporary table, last first.
    waiting: Vec<Request>,
}

impl Stream {
    /// The next transaction.
    pub fn take(&mut self) -> Request {
        if let Some(request) = self.waiting.pop() {
            return request;
        }
        self.sequence += 1;
        let input = self.action();
        let think_time = match input {
            Input::Trade { .. } => self.plan.parameters.trade_think_time,
            _ => self.plan.parameters.request_think_time,
        };
        let Parameters { catalogue_share, report_share, .. } = self.plan.parameters;
        if report_share > 0.0 && self.random.unit() < report_share {
            let think_time = self.plan.parameters.request_think_time;
            self.waiting.push(Request { input: Input::Report, think_time });
        }
        if self.random.unit() >= catalogue_share {
            return Request { input, think_time };
        }
        let object = super::rows::own(self.user, self.sequence);
        self.waiting.push(Request { input: Input::DropTemporary { object }, think_time });
        self.waiting.push(Request { input, think_time: Duration::ZERO });
        Request { input: Input::CreateTemporary { object }, think_time: Duration::ZERO }
    }

    /// Takes its keys from after this sequence, which an earlier run of the same user has used over
    /// these tables. What is drawn stays the same.
    pub fn skip_past(&mut self, sequence: u32) {
        self.sequence = self.sequence.max(sequence);
    }

    fn action(&mut self) -> Input {
        let own = (self.user, self.sequence);
        let account = self.random.below(self.plan.parameters.accounts.into()) as u32;
        let instrument = self.plan.zipf.draw(&mut self.random) as u16;
        let [place, trade, cancel, portfolio] = SHARES;
        match self.random.below(100) {
            drawn if drawn < place => Input::PlaceOrder(Placement {
                account,
                instrument,
                is_sell: self.random.below(2) == 1,
                quantity: 1 + self.random.below(20) as i64,
                distance_e4: self.random.below(201) as i64 - 100,
                own,
            }),
            drawn if drawn < place + trade => Input::Trade { account, instrument, own },
            drawn if drawn < place + trade + cancel => Input::Cancel { account },
            drawn if drawn < place + trade + cancel + portfolio => Input::Portfolio { account },
            _ => Input::Depth { instrument },
        }
    }
}
