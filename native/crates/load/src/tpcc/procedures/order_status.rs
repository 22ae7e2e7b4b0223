//! Order-Status, clause 2.6.2, on one snapshot.

use assay_wire::sql::Session;
use assay_workload::tpcc::inputs::OrderStatusInput;
use assay_workload::tpcc::procedures::Status;

use super::{Abort, Terminal, int, missing};
use crate::columns::{int as int_of, narrow};
use crate::tpcc::statements::Query;

impl<S: Session> Terminal<S> {
    pub(super) async fn order_status(&mut self, input: &OrderStatusInput) -> Result<Status, Abort> {
        let OrderStatusInput { warehouse, district, .. } = *input;
        let customer = self.customer_number(warehouse, district, input.customer).await?;
        let values = [int(warehouse), int(district), int(customer)];
        let mut balance_cents = None;
        let visit = |row: &S::Row<'_>| {
            balance_cents = Some(int_of(row, 0)?);
            Ok(())
        };
        self.ask(Query::Customer, &values, visit).await?;
        let key = || format!("({warehouse}, {district}, {customer})");
        let balance_cents = balance_cents.ok_or_else(|| missing("customer", key()))?;
        let mut status = Status { customer, balance_cents, order: 0, lines: 0, amount_cents: 0 };
        let visit = |row: &S::Row<'_>| {
            status.order = narrow(row, 0)?;
            Ok(())
        };
        self.ask(Query::LastOrder, &values, visit).await?;
        if status.order == 0 {
            return Ok(status);
        }
        let values = [int(warehouse), int(district), int(status.order)];
        let visit = |row: &S::Row<'_>| {
            status.lines += 1;
            status.amount_cents += int_of(row, 0)?;
            Ok(())
        };
        self.ask(Query::Lines, &values, visit).await?;
        Ok(status)
    }
}
