//! The trade-desk on every kind of concurrency control.

use std::thread;
use std::time::Duration;

use assay_index::IndexKind;
use assay_transactions::ConcurrencyControl;
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Tables};
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
    let database = crate::support::database::<C>(&TABLES, index);
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
    for index in crate::support::TREES {
        every_kind!(invariants_hold(index));
    }
}

fn as_the_reference<C: ConcurrencyControl>(index: IndexKind) {
    let plan = Plan::new(parameters()).unwrap();
    let database = crate::support::database::<C>(&TABLES, index);
    let mut loader = database.load();
    plan.load(|table, key, row| loader.row(table, key, row).unwrap());
    drop(loader);
    let mut reference = ReferenceTables::new(&TABLES);
    plan.load(|table, key, row| reference.load(table, key, row));
    let mut streams: Vec<_> = (0..4).map(|user| plan.stream(user)).collect();
    let mut worker = database.worker();
    for turn in 0..1600 {
        let input = streams[turn % 4].take().input;
        let expected = reference.transact(|tables| run(tables, &input));
        let got = worker.transact(|tables| run(tables, &input));
        assert_eq!(got.ok(), expected.ok(), "{}: {input:?}", C::KIND.name());
    }
    drop(worker);
    let mut tables = database.quiescent();
    for schema in TABLES {
        let mut found = Vec::new();
        let keep = |key, row: &[u8]| found.push((key, row.to_vec()));
        tables.scan(schema.id, 0..=u64::MAX, Direction::Forward, usize::MAX, keep).unwrap();
        let expected = reference.rows(schema.id).map(|(key, row)| (key, row.to_vec()));
        assert!(found.into_iter().eq(expected), "{} {}", C::KIND.name(), schema.name);
    }
}

#[test]
fn one_thread_leaves_the_same_rows_as_the_reference() {
    for index in crate::support::TREES {
        every_kind!(as_the_reference(index));
    }
}
