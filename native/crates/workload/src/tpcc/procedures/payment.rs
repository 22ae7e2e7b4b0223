//! Payment, clause 2.5.2.

use std::io::Write;

use super::customer_number;
use crate::tables::{Row, Tables};
use crate::tpcc::inputs::PaymentInput;
use crate::tpcc::keys;
use crate::tpcc::rows::{Customer, District, History, Warehouse};

/// A payment that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// Who paid.
    pub customer: u16,
    /// What the customer owes now.
    pub balance_cents: i64,
}

/// Takes a payment.
pub fn payment<T: Tables>(tables: &mut T, input: &PaymentInput) -> Result<Paid, T::Abort> {
    let amount_cents = input.amount_cents;
    let warehouse = tables.update(keys::warehouse(input.warehouse), |row: &mut Warehouse| {
        row.set_ytd_cents(row.ytd_cents() + amount_cents);
    })?;
    let district_key = keys::district(input.warehouse, input.district);
    let district = tables.update(district_key, |row: &mut District| {
        row.set_ytd_cents(row.ytd_cents() + amount_cents);
    })?;
    let (home, place) = (input.customer_warehouse, input.customer_district);
    let number = customer_number(tables, home, place, input.customer)?;
    let customer = tables.update(keys::customer(home, place, number), |row: &mut Customer| {
        row.set_balance_cents(row.balance_cents() - amount_cents);
        row.set_ytd_payment_cents(row.ytd_payment_cents() + amount_cents);
        row.set_payments(row.payments() + 1);
        if row.credit() == b"BC" {
            note_bad_credit(row, number, input);
        }
    })?;
    let mut history = History::zeroed();
    history.set_amount_cents(amount_cents);
    history.set_date(input.date);
    history.set_warehouse(input.warehouse);
    history.set_district(input.district);
    history.set_customer_warehouse(home);
    history.set_customer_district(place);
    history.set_customer(number);
    history.set_data(&[warehouse.name(), b"    ", district.name()].concat());
    tables.add(keys::history(input.history_writer, input.history_sequence), &history)?;
    Ok(Paid { customer: number, balance_cents: customer.balance_cents() })
}

/// Writes the payment in front of C_DATA, whose end falls off after 500 characters.
fn note_bad_credit(row: &mut Customer, number: u16, input: &PaymentInput) {
    let mut data = Vec::with_capacity(600);
    write_bad_credit(&mut data, number, input);
    data.extend_from_slice(row.data());
    row.set_data(&data);
}

/// Appends what a payment of a customer with bad credit puts in front of C_DATA.
pub fn write_bad_credit(data: &mut Vec<u8>, number: u16, input: &PaymentInput) {
    // Writing to a vector cannot fail.
    let _ = write!(
        data,
        "{number} {} {} {} {} {}.{:02} ",
        input.customer_district,
        input.customer_warehouse,
        input.district,
        input.warehouse,
        input.amount_cents / 100,
        input.amount_cents % 100,
    );
}
