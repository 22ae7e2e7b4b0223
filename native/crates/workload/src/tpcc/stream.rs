//! Draws the inputs of a thread, with the shares of clauses 2.4.1 to 2.8.1 and 5.2.4.
//!
//! An input is drawn when it is taken: some sixty random numbers, 86 ns on average on one core of
//! the development machine, beside a transaction of tens of microseconds. Only think times need a
//! logarithm, and they are only drawn when waits are on.
//!
//! A second stream of the same thread over the same database would repeat its history keys: it is
//! to take others ([`Stream::skip_past`]).

use std::time::Duration;

use super::draws::{Constants, percent, uniform};
use super::inputs::{
    CustomerChoice, DeliveryInput, Input, Kind, LINES_MAX, Line, NewOrderInput, OrderStatusInput,
    PaymentInput, Request, StockLevelInput,
};
use super::population::{LOAD_DATE, shuffle};
use super::scale::{DISTRICTS, Home, Parameters, Selection};
use crate::WorkloadError;
use assay_random::Random;

/// The inputs of a whole run, and the database that they are made for.
#[derive(Clone, Debug)]
pub struct Plan {
    parameters: Parameters,
    constants: Constants,
}

impl Plan {
    /// Checks the parameters.
    pub fn new(parameters: Parameters) -> Result<Self, WorkloadError> {
        parameters.validate()?;
        let constants = Constants::new(parameters.seed);
        Ok(Self { parameters, constants })
    }

    /// What this was made from.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The constants C of NURand.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// The endless inputs of one thread, which stands for one terminal.
    pub fn stream(&self, thread: usize) -> Stream {
        Stream {
            parameters: self.parameters.clone(),
            constants: self.constants,
            random: Random::new(self.parameters.seed, PURPOSE | thread as u64),
            thread,
            taken: 0,
            deck: Vec::new(),
        }
    }
}

const PURPOSE: u64 = 0x7470_6363 << 32;

/// The kind that a number below 100 falls on.
fn weighted(mut percent: u64) -> Kind {
    for kind in Kind::ALL {
        match percent.checked_sub(kind.weight_percent()) {
            Some(rest) => percent = rest,
            None => return kind,
        }
    }
    unreachable!("the weights sum to 100")
}

/// The inputs of one thread.
#[derive(Clone, Debug)]
pub struct Stream {
    parameters: Parameters,
    constants: Constants,
    random: Random,
    thread: usize,
    taken: u64,
    deck: Vec<Kind>,
}

impl Stream {
    /// The next transaction.
    pub fn take(&mut self) -> Request {
        let kind = self.kind();
        self.taken += 1;
        let (keying_time, think_time) = self.waits(kind);
        Request { input: self.input(kind), keying_time, think_time }
    }

    /// Takes its history keys from after this sequence, which an earlier run of the same thread has
    /// used in this database. What is drawn stays the same.
    pub fn skip_past(&mut self, sequence: u64) {
        self.taken = self.taken.max(sequence);
    }

    fn kind(&mut self) -> Kind {
        match self.parameters.selection {
            Selection::Deck => self.card(),
            Selection::Weighted => weighted(self.random.below(100)),
        }
    }

    fn card(&mut self) -> Kind {
        loop {
            if let Some(kind) = self.deck.pop() {
                return kind;
            }
            let cards = Kind::ALL.iter().flat_map(|kind| std::iter::repeat_n(*kind, kind.cards()));
            self.deck.extend(cards);
            shuffle(&mut self.deck, &mut self.random);
        }
    }

    /// The think time is negative exponential and ends at ten times its mean, clause 5.2.5.4.
    fn waits(&mut self, kind: Kind) -> (Duration, Duration) {
        if !self.parameters.has_waits {
            return (Duration::ZERO, Duration::ZERO);
        }
        let mean = kind.think_time_mean();
        let factor = -(1.0 - self.random.unit()).ln();
        (kind.keying_time(), mean.mul_f64(factor.min(10.0)))
    }

    fn input(&mut self, kind: Kind) -> Input {
        let warehouse = self.home();
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order(warehouse)),
            Kind::Payment => Input::Payment(self.payment(warehouse)),
            Kind::OrderStatus => Input::OrderStatus(OrderStatusInput {
                warehouse,
                district: self.district(),
                customer: self.customer_choice(),
            }),
            Kind::Delivery => Input::Delivery(DeliveryInput {
                warehouse,
                carrier: uniform(&mut self.random, 1..=10) as u8,
                date: self.date(),
            }),
            Kind::StockLevel => Input::StockLevel(StockLevelInput {
                warehouse,
                district: self.stock_level_district(),
                threshold: uniform(&mut self.random, 10..=20) as u8,
            }),
        }
    }

    fn new_order(&mut self, warehouse: u16) -> NewOrderInput {
        let district = self.district();
        let scale = self.parameters.scale;
        let customer = self.constants.customer(&mut self.random, &scale);
        let line_count = uniform(&mut self.random, 5..=15) as u8;
        let is_rolled_back = percent(&mut self.random, 1);
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..usize::from(line_count)] {
            line.item = self.constants.item(&mut self.random, &scale);
            let is_remote = percent(&mut self.random, 1);
            line.supply_warehouse = if is_remote { self.other(warehouse) } else { warehouse };
            line.quantity = uniform(&mut self.random, 1..=10) as u8;
        }
        if is_rolled_back {
            lines[usize::from(line_count) - 1].item = scale.unused_item();
        }
        NewOrderInput { warehouse, district, customer, date: self.date(), lines, line_count }
    }

    fn payment(&mut self, warehouse: u16) -> PaymentInput {
        let district = self.district();
        let (customer_warehouse, customer_district) = if percent(&mut self.random, 15) {
            (self.other(warehouse), self.district())
        } else {
            (warehouse, district)
        };
        PaymentInput {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer_choice(),
            amount_cents: uniform(&mut self.random, 100..=500_000) as i64,
            date: self.date(),
            history_writer: self.thread as u32 + 1,
            history_sequence: self.taken,
        }
    }

    fn customer_choice(&mut self) -> CustomerChoice {
        let scale = &self.parameters.scale;
        if percent(&mut self.random, 60) {
            return CustomerChoice::LastName(self.constants.name(&mut self.random, scale));
        }
        CustomerChoice::Number(self.constants.customer(&mut self.random, scale))
    }

    fn home(&mut self) -> u16 {
        let warehouses = u64::from(self.parameters.scale.warehouses);
        match self.parameters.home {
            Home::Fixed => (1 + self.thread as u64 % warehouses) as u16,
            Home::Drawn => uniform(&mut self.random, 1..=warehouses) as u16,
        }
    }

    fn stock_level_district(&mut self) -> u8 {
        let warehouses = usize::from(self.parameters.scale.warehouses);
        match self.parameters.home {
            Home::Fixed => (1 + self.thread / warehouses % usize::from(DISTRICTS)) as u8,
            Home::Drawn => self.district(),
        }
    }

    /// Another warehouse, each alike; the same one when there is no other.
    fn other(&mut self, warehouse: u16) -> u16 {
        let warehouses = self.parameters.scale.warehouses;
        if warehouses == 1 {
            return warehouse;
        }
        let drawn = uniform(&mut self.random, 1..=u64::from(warehouses) - 1) as u16;
        if drawn < warehouse { drawn } else { drawn + 1 }
    }

    fn district(&mut self) -> u8 {
        uniform(&mut self.random, 1..=u64::from(DISTRICTS)) as u8
    }

    fn date(&self) -> u64 {
        self.taken + LOAD_DATE
    }
}
