//! Payment, clause 2.5.2. Locks in the order: warehouse, district, customer.

use assay_wire::WireError;
use assay_wire::sql::{Session, Value};
use assay_workload::tpcc::inputs::PaymentInput;
use assay_workload::tpcc::procedures::{Paid, write_bad_credit};

use super::{Abort, Terminal, int, missing};
use crate::columns::{int as int_of, text as text_of};
use crate::tpcc::statements::Query;

/// Where a payment's answer, where all is read at once, has D_NAME and C_BALANCE.
const DISTRICT_COLUMN: usize = 6;
const CUSTOMER_COLUMN: usize = 12;

/// A short name, copied out of an answer.
#[derive(Clone, Copy, Default)]
struct Name {
    bytes: [u8; 10],
    length: usize,
}

impl Name {
    fn set(&mut self, text: &[u8]) {
        self.length = text.len().min(self.bytes.len());
        self.bytes[..self.length].copy_from_slice(&text[..self.length]);
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What of the answers is looked at.
#[derive(Default)]
struct Shown {
    warehouse: Name,
    district: Name,
    balance_cents: Option<i64>,
}

impl<S: Session> Terminal<S> {
    pub(super) async fn payment(&mut self, input: &PaymentInput) -> Result<Paid, Abort> {
        let mut shown = Shown::default();
        let amount = int(input.amount_cents);
        let values = [amount, int(input.warehouse)];
        let visit = |row: &S::Row<'_>| {
            shown.warehouse.set(text_of(row, 0)?);
            Ok(())
        };
        self.ask(Query::PayWarehouse, &values, visit).await?;
        let values = [amount, int(input.warehouse), int(input.district)];
        let visit = |row: &S::Row<'_>| {
            shown.district.set(text_of(row, 0)?);
            Ok(())
        };
        self.ask(Query::PayDistrict, &values, visit).await?;
        let (home, place) = (input.customer_warehouse, input.customer_district);
        let customer = self.customer_number(home, place, input.customer).await?;
        self.pay_customer(input, customer, &mut shown).await?;
        if !self.is_returning() {
            self.read_payment(input, customer, &mut shown).await?;
        }
        let balance_cents = shown
            .balance_cents
            .ok_or_else(|| missing("customer", format!("({home}, {place}, {customer})")))?;
        self.add_history(input, customer, &shown).await?;
        Ok(Paid { customer, balance_cents })
    }

    async fn pay_customer(
        &mut self,
        input: &PaymentInput,
        customer: u16,
        shown: &mut Shown,
    ) -> Result<(), WireError> {
        let mut note = std::mem::take(&mut self.text);
        note.clear();
        write_bad_credit(&mut note, customer, input);
        let amount = int(input.amount_cents);
        let (home, place) = (int(input.customer_warehouse), int(input.customer_district));
        let values = [amount, amount, Value::Text(&note), home, place, int(customer)];
        let visit = |row: &S::Row<'_>| {
            shown.balance_cents = Some(int_of(row, 0)?);
            Ok(())
        };
        let asked = self.ask(Query::PayCustomer, &values, visit).await;
        self.text = note;
        asked.map(drop)
    }

    /// Everything that a terminal shows, where UPDATE returns nothing.
    async fn read_payment(
        &mut self,
        input: &PaymentInput,
        customer: u16,
        shown: &mut Shown,
    ) -> Result<(), WireError> {
        let (warehouse, home) = (int(input.warehouse), int(input.customer_warehouse));
        let (district, place) = (int(input.district), int(input.customer_district));
        let values = [warehouse, warehouse, district, home, place, int(customer)];
        let visit = |row: &S::Row<'_>| {
            shown.warehouse.set(text_of(row, 0)?);
            shown.district.set(text_of(row, DISTRICT_COLUMN)?);
            shown.balance_cents = Some(int_of(row, CUSTOMER_COLUMN)?);
            Ok(())
        };
        self.ask(Query::Payment, &values, visit).await.map(drop)
    }

    async fn add_history(
        &mut self,
        input: &PaymentInput,
        customer: u16,
        shown: &Shown,
    ) -> Result<(), WireError> {
        let mut data = std::mem::take(&mut self.text);
        data.clear();
        data.extend_from_slice(shown.warehouse.bytes());
        data.extend_from_slice(b"    ");
        data.extend_from_slice(shown.district.bytes());
        let values = [
            int(input.history_writer),
            int(input.history_sequence as i64),
            int(customer),
            int(input.customer_district),
            int(input.customer_warehouse),
            int(input.district),
            int(input.warehouse),
            int(input.date as i64),
            int(input.amount_cents),
            Value::Text(&data),
        ];
        let told = self.tell(Query::AddHistory, &values).await;
        self.text = data;
        told.map(drop)
    }
}
