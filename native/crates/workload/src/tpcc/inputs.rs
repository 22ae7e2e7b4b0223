//! What the five transactions are told, clauses 2.4.1 to 2.8.1, and how long a terminal waits.
//!
//! The date of an input is its place in its stream, from 2 (loading has date 1): inputs know no
//! clock, and the same seed must give the same rows. `stream` draws them.

use std::time::Duration;

/// The five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Enters an order.
    NewOrder,
    /// Takes a customer's payment.
    Payment,
    /// Looks at a customer's last order.
    OrderStatus,
    /// Delivers the oldest order of each district.
    Delivery,
    /// Counts recently sold items whose stock is low.
    StockLevel,
}

impl Kind {
    /// Every kind, in the order of the discriminants.
    pub const ALL: [Kind; 5] =
        [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new_order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order_status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock_level",
        }
    }

    /// Cards in a deck of 23, clause 5.2.4.2.
    pub fn cards(self) -> usize {
        match self {
            Kind::NewOrder | Kind::Payment => 10,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 1,
        }
    }

    /// Its weight in percent when kinds are drawn independently.
    pub fn weight_percent(self) -> u64 {
        match self {
            Kind::NewOrder => 45,
            Kind::Payment => 43,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 4,
        }
    }

    /// The constant keying time, clause 5.2.5.7.
    pub fn keying_time(self) -> Duration {
        Duration::from_secs(match self {
            Kind::NewOrder => 18,
            Kind::Payment => 3,
            Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2,
        })
    }

    /// The mean of the think time, clause 5.2.5.7.
    pub fn think_time_mean(self) -> Duration {
        Duration::from_secs(match self {
            Kind::NewOrder | Kind::Payment => 12,
            Kind::OrderStatus => 10,
            Kind::Delivery | Kind::StockLevel => 5,
        })
    }
}

/// One line of an order to be entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Which item; one that does not exist makes the transaction roll back.
    pub item: u32,
    /// From which warehouse.
    pub supply_warehouse: u16,
    /// How many, 1 to 10.
    pub quantity: u8,
}

/// The most lines that an order has.
pub const LINES_MAX: usize = 15;

/// What New-Order is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderInput {
    /// Home warehouse.
    pub warehouse: u16,
    /// District.
    pub district: u8,
    /// Customer.
    pub customer: u16,
    /// O_ENTRY_D.
    pub date: u64,
    pub(super) lines: [Line; LINES_MAX],
    pub(super) line_count: u8,
}

impl NewOrderInput {
    /// The lines, 5 to 15.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.line_count)]
    }
}

/// How a customer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerChoice {
    /// By number.
    Number(u16),
    /// By the number of the last name: the middle one of those who have it.
    LastName(u16),
}

/// What Payment is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentInput {
    /// The warehouse that is paid.
    pub warehouse: u16,
    /// The district that is paid.
    pub district: u8,
    /// The customer's warehouse.
    pub customer_warehouse: u16,
    /// The customer's district.
    pub customer_district: u8,
    /// Who pays.
    pub customer: CustomerChoice,
    /// How much.
    pub amount_cents: i64,
    /// H_DATE.
    pub date: u64,
    /// Whose history this is: the thread plus one.
    pub history_writer: u32,
    /// The number of the row in that history.
    pub history_sequence: u64,
}

/// What Order-Status is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// Warehouse.
    pub warehouse: u16,
    /// District.
    pub district: u8,
    /// Whose order.
    pub customer: CustomerChoice,
}

/// What Delivery is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryInput {
    /// Warehouse.
    pub warehouse: u16,
    /// Who delivers, 1 to 10.
    pub carrier: u8,
    /// OL_DELIVERY_D.
    pub date: u64,
}

/// What Stock-Level is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevelInput {
    /// Warehouse.
    pub warehouse: u16,
    /// District.
    pub district: u8,
    /// Stock below this is low, 10 to 20.
    pub threshold: u8,
}

/// One transaction, ready to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// New-Order.
    NewOrder(NewOrderInput),
    /// Payment.
    Payment(PaymentInput),
    /// Order-Status.
    OrderStatus(OrderStatusInput),
    /// Delivery.
    Delivery(DeliveryInput),
    /// Stock-Level.
    StockLevel(StockLevelInput),
}

impl Input {
    /// Which of the five it is.
    pub fn kind(&self) -> Kind {
        match self {
            Input::NewOrder(_) => Kind::NewOrder,
            Input::Payment(_) => Kind::Payment,
            Input::OrderStatus(_) => Kind::OrderStatus,
            Input::Delivery(_) => Kind::Delivery,
            Input::StockLevel(_) => Kind::StockLevel,
        }
    }
}

/// A transaction with the waits around it. Whoever runs it does the waiting, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The transaction.
    pub input: Input,
    /// Before it.
    pub keying_time: Duration,
    /// After it.
    pub think_time: Duration,
}
