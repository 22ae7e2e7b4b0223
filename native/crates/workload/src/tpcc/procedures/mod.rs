//! The five transactions, clauses 2.4.2 to 2.8.2, over any tables.
//!
//! A procedure does the reads and writes of its profile in the profile's order and returns what
//! tests compare. It does not begin, commit or try again.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

use super::inputs::{CustomerChoice, Input};
use super::keys;
use super::rows::CustomerByName;
use crate::tables::{AbortCause, Direction, Row, Tables};

pub use delivery::{Delivered, delivery};
pub use new_order::{Entered, new_order, stock_left, total_cents};
pub use order_status::{Status, order_status};
pub use payment::{Paid, payment, write_bad_credit};
pub use stock_level::{RECENT, stock_level};

/// What a committed transaction would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// New-Order.
    NewOrder(Entered),
    /// Payment.
    Payment(Paid),
    /// Order-Status.
    OrderStatus(Status),
    /// Delivery.
    Delivery(Delivered),
    /// Stock-Level: how many items are low.
    StockLevel(u32),
}

/// Runs one transaction's procedure.
pub fn run<T: Tables>(tables: &mut T, input: &Input) -> Result<Outcome, T::Abort> {
    Ok(match input {
        Input::NewOrder(input) => Outcome::NewOrder(new_order(tables, input)?),
        Input::Payment(input) => Outcome::Payment(payment(tables, input)?),
        Input::OrderStatus(input) => Outcome::OrderStatus(order_status(tables, input)?),
        Input::Delivery(input) => Outcome::Delivery(delivery(tables, input)?),
        Input::StockLevel(input) => Outcome::StockLevel(stock_level(tables, input)?),
    })
}

/// The place, from zero, of the middle one of `count` customers of one last name in the order of
/// first names and then numbers: ceil(n / 2) counted from one (clause 2.5.2.2).
pub fn middle(count: usize) -> usize {
    count.div_ceil(2).saturating_sub(1)
}

/// The number of the chosen customer. By last name it is the one at place ceil(n / 2), counted
/// from one in the order of first names, of the n who have that name (clause 2.5.2.2).
fn customer_number<T: Tables>(
    tables: &mut T,
    warehouse: u16,
    district: u8,
    choice: CustomerChoice,
) -> Result<u16, T::Abort> {
    let name = match choice {
        CustomerChoice::Number(number) => return Ok(number),
        CustomerChoice::LastName(name) => name,
    };
    let range = keys::customers_named(warehouse, district, name);
    let mut found: Vec<([u8; 16], u16)> = Vec::new();
    let all = usize::MAX;
    tables.scan_rows(range.clone(), Direction::Forward, all, |key, row: &CustomerByName| {
        let mut first = [0; 16];
        first[..row.first().len()].copy_from_slice(row.first());
        found.push((first, keys::customer_of_name(key)));
    })?;
    found.sort_unstable();
    match found.get(middle(found.len())) {
        Some((_, number)) => Ok(*number),
        None => {
            let table = CustomerByName::TABLE;
            Err(tables.abort(AbortCause::RowMissing { table, key: *range.start() }))
        }
    }
}
