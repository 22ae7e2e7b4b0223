//! Drawing and carrying out actions of the desk allocates nothing, sessions aside.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use assay_load::trade_desk::statements::Query;
use assay_load::trade_desk::{Desk, Ending};
use assay_wire::WireError;
use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};
use assay_workload::trade_desk::{Outcome, Parameters, Plan};

use crate::allocations;

/// A desk on which everybody is rich and the oldest order is account 0's; statements are numbered
/// as they are prepared.
struct Rich(usize);

struct Numbers<'n>(&'n [i64]);

impl Row for Numbers<'_> {
    fn columns(&self) -> usize {
        self.0.len()
    }

    fn int(&self, column: usize) -> Result<Option<i64>, WireError> {
        Ok(self.0.get(column).copied())
    }

    fn text(&self, _: usize) -> Result<Option<&[u8]>, WireError> {
        Ok(None)
    }
}

fn account(value: Value<'_>) -> i64 {
    let Value::Int(account) = value else { panic!("{value:?} is no account") };
    account
}

impl Session for Rich {
    const DIALECT: Dialect = Dialect::Postgres;
    type Row<'r> = Numbers<'r>;

    async fn prepare(&mut self, _: &str, _: &[Type]) -> Result<Statement, WireError> {
        self.0 += 1;
        Ok(Statement(self.0 - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Numbers<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        let is = |query: Query| statement.0 == query as usize;
        if is(Query::Accounts) {
            visit(&Numbers(&[account(values[1]), 1 << 40, 1 << 40]))?;
            visit(&Numbers(&[account(values[2]), 1 << 40, 1 << 40]))?;
        } else {
            // Place, number, account, side, price, quantity; or what others show.
            visit(&Numbers(if is(Query::Oldest) {
                &[1, 1, 0, 1, 5, 2]
            } else {
                &[1, 1 << 20, 0]
            }))?;
        }
        let is_of_two = [Query::AddLegs, Query::Deliver, Query::Pay].into_iter().any(is);
        Ok(Completion { rows: 1, affected: 1 + u64::from(is_of_two) })
    }

    async fn batch(&mut self, _: &str) -> Result<Completion, WireError> {
        Ok(Completion::default())
    }

    async fn close(self) {}
}

/// Runs a future of a session that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a session that never waits has waited"),
    }
}

#[test]
fn actions_are_drawn_and_carried_out_without_allocations() {
    let plan = Plan::new(Parameters {
        users: 1,
        accounts: 100,
        instruments: 10,
        theta: 0.5,
        catalogue_share: 0.3,
        report_share: 0.0,
        trade_think_time: Duration::ZERO,
        request_think_time: Duration::ZERO,
        seed: 1,
    })
    .unwrap();
    let mut desk = now(Desk::new(Rich(0))).unwrap();
    let mut stream = plan.stream(0);
    // The stream keeps the memory for what is left of a wrapped action.
    for _ in 0..20 {
        stream.take();
    }
    let mut done = [0; 8];
    let before = allocations::times();
    for _ in 0..1000 {
        let input = stream.take().input;
        let ending = now(desk.run(&input)).unwrap();
        done[input.kind() as usize] += u64::from(ending != Ending::Committed(Outcome::Refused));
    }
    assert_eq!(allocations::times(), before);
    assert!(done[..7].iter().all(|count| *count > 10), "{done:?}");
}
