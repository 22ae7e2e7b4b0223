//! The trade-desk on every kind of concurrency control.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[macro_use]
mod support;

use std::thread;
use std::time::Duration;

use assay_index::IndexKind;
use assay_transactions::ConcurrencyControl;
use assay_workload::trade_desk::{Ledger, Parameters, Plan, TABLES, check, run};

fn parameters() -> Parameters {
    Parameters {
        users: 4,
        accounts: 20,
        instruments: 4,
        theta: 0.99,
        catalogue_share: 0.2,
        report_share: 0.0,
        trade_think_time: Duration::ZERO,
        request_think_time: Duration::ZERO,
        seed: 42,
    }
}

fn invariants_hold<C: ConcurrencyControl>(index: IndexKind) {
    let plan = Plan::new(parameters()).unwrap();
    let database = support::database::<C>(&TABLES, index);
    let mut loader = database.load();
    plan.load(|table, key, row| loader.row(table, key, row).unwrap());
    drop(loader);
    thread::scope(|scope| {
        for user in 0..4 {
            let (plan, database) = (&plan, &database);
            scope.spawn(move || {
                let mut stream = plan.stream(user);
                let mut worker = database.worker();
                for _ in 0..800 {
                    let input = stream.take().input;
                    worker.transact(|tables| run(tables, &input)).unwrap();
                }
            });
        }
    });
    let ledger = Ledger::read(&mut database.quiescent()).unwrap();
    assert_eq!(check(&ledger, &parameters()), [], "{}", C::KIND.name());
}

#[test]
fn all_invariants_hold_after_four_threads() {
    for index in support::TREES {
        every_kind!(invariants_hold(index));
    }
}
