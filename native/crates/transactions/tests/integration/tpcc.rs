//! TPC-C on every kind of concurrency control.

use std::thread;

use assay_index::IndexKind;
use assay_transactions::{ConcurrencyControl, Database, Failure, WorkerCounts};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Tables};
use assay_workload::tpcc::{
    Census, Home, Parameters, Plan, Scale, Selection, TABLES, check_after_loading,
    check_after_running, run,
};

const SEED: u64 = 42;

fn plan(warehouses: u16) -> Plan {
    Plan::new(Parameters {
        scale: Scale::small(warehouses),
        selection: Selection::Deck,
        home: Home::Drawn,
        has_waits: false,
        seed: SEED,
    })
    .unwrap()
}

fn load<C: ConcurrencyControl>(plan: &Plan, database: &Database<C>) {
    let warehouses = plan.parameters().scale.warehouses;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut loader = database.load();
            plan.load_items(|table, key, row| loader.row(table, key, row).unwrap());
        });
        for warehouse in 1..=warehouses {
            scope.spawn(move || {
                let mut loader = database.load();
                let add = |table, key, row: &[u8]| loader.row(table, key, row).unwrap();
                plan.load_warehouse(warehouse, add);
            });
        }
    });
}

fn consistent_after_threads<C: ConcurrencyControl>(index: IndexKind, threads: u16) {
    let plan = plan(2);
    let database = crate::support::database::<C>(&TABLES, index);
    load(&plan, &database);
    let name = format!("{} over {}", C::KIND.name(), index.name());
    let census = Census::read(&mut database.quiescent()).unwrap();
    assert_eq!(check_after_loading(&census, &plan.parameters().scale), [], "{name}");
    let work = |thread: u16| {
        let mut stream = plan.stream(thread.into());
        let mut worker = database.worker();
        for _ in 0..600 {
            let input = stream.take().input;
            match worker.transact(|tables| run(tables, &input)) {
                Ok(_) | Err(Failure::Requested) => {}
                Err(failure) => panic!("{name}: {failure} in {input:?}"),
            }
        }
        worker.counts()
    };
    let mut counts = WorkerCounts::default();
    thread::scope(|scope| {
        let work = &work;
        let start = |thread| scope.spawn(move || work(thread));
        let threads: Vec<_> = (0..threads).map(start).collect();
        threads.into_iter().for_each(|thread| counts.add(&thread.join().unwrap()));
    });
    let census = Census::read(&mut database.quiescent()).unwrap();
    assert_eq!(check_after_running(&census), [], "{name}");
    let done = counts.commits + counts.aborts.requested;
    assert_eq!(done, 600 * u64::from(threads), "{name}");
}

#[test]
fn all_conditions_hold_after_two_and_four_threads() {
    for index in crate::support::TREES {
        every_kind!(consistent_after_threads(index, 2));
        every_kind!(consistent_after_threads(index, 4));
    }
}

fn as_the_reference<C: ConcurrencyControl>(index: IndexKind) {
    let plan = plan(1);
    let database = crate::support::database::<C>(&TABLES, index);
    load(&plan, &database);
    let mut reference = ReferenceTables::new(&TABLES);
    plan.load_items(|table, key, row| reference.load(table, key, row));
    plan.load_warehouse(1, |table, key, row| reference.load(table, key, row));
    let mut stream = plan.stream(0);
    let mut worker = database.worker();
    for _ in 0..800 {
        let input = stream.take().input;
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
