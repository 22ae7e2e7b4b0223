//! A small TPC-C database in the reference tables, and runs over it.
#![allow(dead_code)] // Each test file uses a part.

use assay_workload::reference::{ReferenceAbort, ReferenceTables};
use assay_workload::tpcc::{Home, Parameters, Plan, Scale, Selection, TABLES, run};

pub const SEED: u64 = 42;

pub fn small(warehouses: u16) -> Parameters {
    Parameters {
        scale: Scale::small(warehouses),
        selection: Selection::Deck,
        home: Home::Fixed,
        has_waits: false,
        seed: SEED,
    }
}

pub fn load(plan: &Plan) -> ReferenceTables {
    let mut tables = ReferenceTables::new(&TABLES);
    plan.load_items(|table, key, row| tables.load(table, key, row));
    for warehouse in 1..=plan.parameters().scale.warehouses {
        plan.load_warehouse(warehouse, |table, key, row| tables.load(table, key, row));
    }
    tables
}

/// Runs transactions of four threads in turn; returns how many rolled back.
pub fn run_transactions(plan: &Plan, tables: &mut ReferenceTables, count: usize) -> usize {
    let mut streams: Vec<_> = (0..4).map(|thread| plan.stream(thread)).collect();
    let outcomes = (0..count).map(|turn| {
        let request = streams[turn % 4].take();
        tables.transact(|tables| run(tables, &request.input))
    });
    let is_rolled_back = |outcome: &Result<_, ReferenceAbort>| match outcome {
        Ok(_) => false,
        Err(ReferenceAbort::Requested) => true,
        Err(other) => panic!("seed {SEED}: {other}"),
    };
    outcomes.filter(is_rolled_back).count()
}
