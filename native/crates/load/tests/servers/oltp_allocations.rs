//! Drawing and running events and operations allocates nothing, sessions aside.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use assay_load::{oltp, ycsb};
use assay_wire::WireError;
use assay_wire::sql::{Completion, Dialect, Row, Session, Statement, Type, Value};
use assay_workload::Mix;
use assay_workload::oltp::{Event, Parameters, Plan, Test};
use ycsb::sql::Verify;

use crate::allocations;
use crate::support::ycsb_twin::parameters;

/// Answers every statement with one row, whose only column is its first value.
struct Echo(usize);

struct EchoRow<'v>(Value<'v>);

impl Row for EchoRow<'_> {
    fn columns(&self) -> usize {
        1
    }

    fn int(&self, _: usize) -> Result<Option<i64>, WireError> {
        Ok(None)
    }

    fn text(&self, _: usize) -> Result<Option<&[u8]>, WireError> {
        Ok(if let Value::Text(text) = self.0 { Some(text) } else { None })
    }
}

impl Session for Echo {
    const DIALECT: Dialect = Dialect::Postgres;
    type Row<'r> = EchoRow<'r>;

    async fn prepare(&mut self, _: &str, _: &[Type]) -> Result<Statement, WireError> {
        self.0 += 1;
        Ok(Statement(self.0))
    }

    async fn run(
        &mut self,
        _: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&EchoRow<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        visit(&EchoRow(values.first().copied().unwrap_or(Value::Null)))?;
        Ok(Completion { rows: 1, affected: 0 })
    }

    async fn batch(&mut self, _: &str) -> Result<Completion, WireError> {
        Ok(Completion::default())
    }

    async fn close(self) {}
}

/// Runs a future of an echo, which never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("an echo waited"),
    }
}

#[test]
fn events_are_drawn_and_run_without_allocations() {
    for test in Test::ALL {
        let plan = Plan::new(Parameters { tables: 3, ..Parameters::defaults(test, 1) }).unwrap();
        let statements = now(oltp::Statements::prepare(&mut Echo(0), &plan)).unwrap();
        let (mut stream, mut event) = (plan.stream(0), Event::default());
        let mut counts = oltp::Counts::default();
        stream.take(&mut event);
        let before = allocations::times();
        for _ in 0..100 {
            stream.take(&mut event);
            now(oltp::run_event(&mut Echo(0), &statements, &event, &mut counts)).unwrap();
        }
        assert_eq!(allocations::times(), before, "{test:?}");
        assert_eq!(counts.rows, counts.reads);
    }
}

#[test]
fn operations_are_run_without_allocations() {
    for mix in Mix::ALL {
        let plan = assay_workload::Plan::new(parameters(mix)).unwrap();
        // What `Verify::Values` finds wrong of an echo would be told in a text.
        let statements = now(ycsb::sql::Statements::prepare(&mut Echo(0), &plan)).unwrap();
        let (mut session, mut stream) = (Echo(0), plan.stream(0, 0));
        let before = allocations::times();
        for _ in 0..100 {
            let Some(operation) = stream.take() else { break };
            let run =
                ycsb::sql::run(&mut session, &statements, &stream, &operation, Verify::Presence);
            now(run).unwrap();
        }
        assert_eq!(allocations::times(), before, "{mix:?}");
    }
}
