//! TPC-C as a job: the five transactions, all twelve consistency conditions.

use assay_workload::tables::{TableId, TableSchema, Tables};
use assay_workload::tpcc::inputs::Kind;
use assay_workload::tpcc::scale::DISTRICTS;
use assay_workload::tpcc::{Census, Input, Plan, Stream, TABLES, check_after_running, run};

use super::job::{Job, Sink, Taken};
use crate::EngineError;

/// Terminals of a warehouse, clause 4.2.1.
const TERMINALS: usize = 10;
/// Lines of an order on average, and the most it may have.
const LINES: usize = 10;
/// The places of the tables that grow or are scanned.
const CUSTOMER_BY_NAME: usize = 3;
const HISTORY: usize = 4;
const NEW_ORDER: usize = 5;
const ORDERS: usize = 6;
const ORDER_BY_CUSTOMER: usize = 7;
const ORDER_LINE: usize = 8;
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// TPC-C over some warehouses.
pub struct Tpcc {
    plan: Plan,
    transactions: usize,
}

impl Tpcc {
    /// Room is made for this many transactions.
    pub fn new(plan: Plan, transactions: usize) -> Self {
        debug_assert!(Kind::ALL.iter().zip(KINDS).all(|(kind, name)| kind.name() == name));
        Self { plan, transactions }
    }

    fn warehouses(&self) -> usize {
        self.plan.parameters().scale.warehouses.into()
    }
}

impl Job for Tpcc {
    type Terminal = Stream;
    type Input = Input;

    fn tables(&self) -> &[TableSchema] {
        &TABLES
    }

    fn capacity(&self, table: TableId) -> usize {
        let scale = &self.plan.parameters().scale;
        let districts = self.warehouses() * usize::from(DISTRICTS);
        let customers = districts * usize::from(scale.customers);
        let grown = self.transactions;
        match usize::from(table.0) {
            0 => self.warehouses(),
            1 => districts,
            2 | CUSTOMER_BY_NAME => customers,
            // Initial orders are as many as customers; at most half of the transactions add one.
            HISTORY | NEW_ORDER | ORDERS | ORDER_BY_CUSTOMER => customers + grown,
            ORDER_LINE => (customers + grown) * LINES * 11 / 10,
            9 => scale.items as usize,
            _ => scale.items as usize * self.warehouses(),
        }
    }

    fn is_scanned(&self, table: TableId) -> bool {
        let scanned = [CUSTOMER_BY_NAME, NEW_ORDER, ORDER_BY_CUSTOMER, ORDER_LINE, ORDERS];
        scanned.contains(&table.0.into())
    }

    fn kinds(&self) -> &[&'static str] {
        &KINDS
    }

    fn pieces(&self) -> usize {
        1 + self.warehouses()
    }

    fn load(&self, piece: usize, sink: &mut Sink<'_>) -> Result<(), EngineError> {
        let mut result = Ok(());
        let rows = |table: TableId, key: u64, row: &[u8]| {
            if result.is_ok() {
                result = sink(table, key, row);
            }
        };
        match piece {
            0 => self.plan.load_items(rows),
            warehouse => self.plan.load_warehouse(warehouse as u16, rows),
        }
        result
    }

    fn terminals(&self, threads: usize) -> usize {
        if self.plan.parameters().has_waits { TERMINALS * self.warehouses() } else { threads }
    }

    fn terminal(&self, number: usize) -> Stream {
        self.plan.stream(number)
    }

    fn take(&self, terminal: &mut Stream) -> Result<Taken<Input>, EngineError> {
        let request = terminal.take();
        let kind = match request.input {
            Input::NewOrder(_) => Kind::NewOrder,
            Input::Payment(_) => Kind::Payment,
            Input::OrderStatus(_) => Kind::OrderStatus,
            Input::Delivery(_) => Kind::Delivery,
            Input::StockLevel(_) => Kind::StockLevel,
        };
        Ok(Taken {
            input: request.input,
            kind: kind as usize,
            is_read_only: matches!(kind, Kind::OrderStatus | Kind::StockLevel),
            before: request.keying_time,
            after: request.think_time,
        })
    }

    fn run<T: Tables>(
        &self,
        tables: &mut T,
        input: &Input,
        _scratch: &mut Vec<u8>,
    ) -> Result<(), T::Abort> {
        run(tables, input).map(|_| ())
    }

    fn faults<T: Tables>(&self, tables: &mut T) -> Result<Vec<String>, T::Abort> {
        let violations = check_after_running(&Census::read(tables)?);
        Ok(violations.iter().map(ToString::to_string).collect())
    }
}
