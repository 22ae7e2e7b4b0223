//! The trade-desk as a job. Reports are the engine's own business: a query over past prices, run
//! by the chosen kind of plan.

use std::sync::Arc;

use assay_plans::{Plan as QueryPlan, Table};
use assay_workload::tables::{TableId, TableSchema, Tables};
use assay_workload::trade_desk::inputs::Kind;
use assay_workload::trade_desk::{Input, Ledger, Plan, Stream, TABLES, check, run};

use super::job::{Job, Sink, Taken};
use crate::EngineError;

/// The first of the catalogue's tables, which are the last.
const CATALOGUE: u8 = 7;
const CATALOGUE_COLUMN: u8 = 9;
const COLUMNS: usize = 4;
/// Objects that are dropped and whose rows wait to be used again, at most.
const DROPPED: usize = 1 << 15;
const KINDS: [&str; 8] = [
    "place_order",
    "trade",
    "cancel",
    "portfolio",
    "depth",
    "create_temporary",
    "drop_temporary",
    "report",
];

/// What a report runs.
pub struct Report {
    /// The query, planned.
    pub plan: Arc<dyn QueryPlan>,
    /// Past prices: hits-shaped synthetic rows.
    pub prices: Table,
    /// What the query must answer.
    pub answers: Vec<i64>,
}

/// The trade-desk with its users.
pub struct TradeDesk {
    plan: Plan,
    transactions: usize,
    report: Report,
    has_waits: bool,
}

impl TradeDesk {
    /// Room is made for this many transactions.
    pub fn new(plan: Plan, transactions: usize, report: Report) -> Self {
        let parameters = plan.parameters();
        let waits = [parameters.trade_think_time, parameters.request_think_time];
        let has_waits = waits.iter().any(|wait| !wait.is_zero());
        Self { plan, transactions, report, has_waits }
    }
}

impl Job for TradeDesk {
    type Terminal = Stream;
    type Input = Input;

    fn tables(&self) -> &[TableSchema] {
        &TABLES
    }

    fn capacity(&self, table: TableId) -> usize {
        let parameters = self.plan.parameters();
        let (accounts, instruments) =
            (parameters.accounts as usize, usize::from(parameters.instruments));
        let users = usize::from(parameters.users);
        match table.0 {
            0 => instruments,
            1 => accounts * instruments,
            2 => accounts,
            // Four actions in ten place an order, three in ten trade.
            3 | 4 => self.transactions / 2 + 1000,
            5 => self.transactions * 2 / 5 + 1000,
            6 => self.transactions * 4 / 5 + 2000,
            CATALOGUE => 1,
            CATALOGUE_COLUMN => COLUMNS * (users + DROPPED),
            _ => users + DROPPED,
        }
    }

    fn is_system(&self, table: TableId) -> bool {
        table.0 >= CATALOGUE
    }

    fn is_scanned(&self, table: TableId) -> bool {
        [1, 3, 4, CATALOGUE_COLUMN].contains(&table.0)
    }

    fn kinds(&self) -> &[&'static str] {
        &KINDS
    }

    fn pieces(&self) -> usize {
        1
    }

    fn load(&self, _piece: usize, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let mut result = Ok(());
        self.plan.load(|table, key, row| {
            if result.is_ok() {
                result = sink(table, key, row);
            }
        });
        result
    }

    fn terminals(&self, threads: usize) -> usize {
        let users = usize::from(self.plan.parameters().users);
        if self.has_waits { users } else { users.min(threads) }
    }

    fn terminal(&self, number: usize) -> Stream {
        self.plan.stream(number as u16)
    }

    fn take(&self, terminal: &mut Stream) -> Result<Taken<Input>, EngineError> {
        let request = terminal.take();
        let kind: Kind = request.input.kind();
        Ok(Taken {
            input: request.input,
            kind: kind as usize,
            is_read_only: kind.is_read_only(),
            before: std::time::Duration::ZERO,
            after: request.think_time,
        })
    }

    fn run<T: Tables>(
        &self,
        tables: &mut T,
        input: &Input,
        _scratch: &mut Vec<u8>,
    ) -> Result<(), T::Abort> {
        if matches!(input, Input::Report) {
            let answers = self.report.plan.run(&self.report.prices);
            assert_eq!(answers, self.report.answers, "a plan gave a wrong answer");
        }
        run(tables, input).map(|_| ())
    }

    fn faults<T: Tables>(&self, tables: &mut T) -> Result<Vec<String>, T::Abort> {
        let violations = check(&Ledger::read(tables)?, self.plan.parameters());
        Ok(violations.iter().map(ToString::to_string).collect())
    }
}
