//! On one thread every kind over every index does what the reference tables do.

use assay_index::IndexKind;
use assay_transactions::{ConcurrencyControl, Database, Failure, Worker};
use assay_workload::reference::{ReferenceAbort, ReferenceTables};
use assay_workload::tables::{AbortCause, Direction, TableId, Tables};
use proptest::prelude::*;

const WORDS: usize = 2;
type Row = [u8; WORDS * 8];

#[derive(Clone, Debug)]
enum Step {
    Read(u8, u64),
    ReadForUpdate(u8, u64),
    Write(u8, u64, u8),
    Insert(u8, u64, u8),
    Delete(u8, u64),
    Scan(u8, u64, u64, bool, usize),
    GiveUp,
}

/// What a step showed.
#[derive(Clone, Debug, PartialEq)]
enum Shown {
    Row(Option<Row>),
    Rows(Vec<(u64, Row)>),
    Done,
}

/// Few keys, two tables, and an end of the key space.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..8_u64, 1 => Just(u64::MAX)]
}

fn step() -> impl Strategy<Value = Step> {
    let table = 0..2_u8;
    prop_oneof![
        4 => (table.clone(), key()).prop_map(|(table, key)| Step::Read(table, key)),
        2 => (table.clone(), key()).prop_map(|(table, key)| Step::ReadForUpdate(table, key)),
        3 => (table.clone(), key(), any::<u8>()).prop_map(|(t, key, v)| Step::Write(t, key, v)),
        4 => (table.clone(), key(), any::<u8>()).prop_map(|(t, key, v)| Step::Insert(t, key, v)),
        3 => (table.clone(), key()).prop_map(|(table, key)| Step::Delete(table, key)),
        2 => (table, key(), key(), any::<bool>(), prop_oneof![Just(1), Just(3), Just(99)])
            .prop_map(|(table, one, other, back, limit)| {
                Step::Scan(table, one.min(other), one.max(other), back, limit)
            }),
        1 => Just(Step::GiveUp),
    ]
}

/// A step that the contract leaves open is left out: a scan where keys were changed before.
fn allowed(steps: &[Step], is_ordered: bool) -> Vec<Step> {
    let mut changed = [false; 2];
    let keep = |step: &&Step| match step {
        Step::Insert(table, ..) | Step::Delete(table, _) => {
            changed[usize::from(*table)] = true;
            true
        }
        Step::Scan(table, ..) => is_ordered && !changed[usize::from(*table)],
        _ => true,
    };
    steps.iter().filter(keep).cloned().collect()
}

/// Steps until one does not make sense: failing steps are avoided by looking first, except now
/// and then, so that transactions also fail.
fn run<T: Tables>(tables: &mut T, steps: &[Step]) -> Result<Vec<Shown>, T::Abort> {
    let mut shown = Vec::new();
    for step in steps {
        shown.push(match *step {
            Step::Read(table, key) => {
                let mut row = [0; WORDS * 8];
                let found = tables.read(TableId(table), key, &mut row)?;
                Shown::Row(found.then_some(row))
            }
            Step::ReadForUpdate(table, key) => {
                let mut row = [0; WORDS * 8];
                let found = tables.read_for_update(TableId(table), key, &mut row)?;
                Shown::Row(found.then_some(row))
            }
            Step::Write(table, key, value) => {
                let mut row = [0; WORDS * 8];
                if value < 16 || tables.read(TableId(table), key, &mut row)? {
                    tables.write(TableId(table), key, &[value; WORDS * 8])?;
                }
                Shown::Done
            }
            Step::Insert(table, key, value) => {
                let mut row = [0; WORDS * 8];
                if value < 16 || !tables.read(TableId(table), key, &mut row)? {
                    tables.insert(TableId(table), key, &[value; WORDS * 8])?;
                }
                Shown::Done
            }
            Step::Delete(table, key) => {
                let mut row = [0; WORDS * 8];
                if key == 7 || tables.read(TableId(table), key, &mut row)? {
                    tables.delete(TableId(table), key)?;
                }
                Shown::Done
            }
            Step::Scan(table, from, to, back, limit) => {
                let direction = if back { Direction::Backward } else { Direction::Forward };
                let mut rows = Vec::new();
                tables.scan(TableId(table), from..=to, direction, limit, |key, row| {
                    rows.push((key, row.try_into().unwrap()));
                })?;
                Shown::Rows(rows)
            }
            Step::GiveUp => return Err(tables.abort(AbortCause::Requested)),
        });
    }
    Ok(shown)
}

fn same_failure(failure: &Failure, abort: &ReferenceAbort) -> bool {
    match (failure, abort) {
        (Failure::Requested, ReferenceAbort::Requested) => true,
        (Failure::RowMissing { table, key }, ReferenceAbort::RowMissing { table: t, key: k })
        | (Failure::KeyExists { table, key }, ReferenceAbort::KeyExists { table: t, key: k }) => {
            (table, key) == (t, k)
        }
        _ => false,
    }
}

fn compare<C: ConcurrencyControl>(index: IndexKind, transactions: &[Vec<Step>]) {
    let schemas = crate::support::schemas(2, WORDS);
    let database: Database<C> = crate::support::database(&schemas, index);
    let mut reference = ReferenceTables::new(&schemas);
    let mut loader = database.load();
    for key in (0..8).step_by(3) {
        loader.row(TableId(0), key, &[1; WORDS * 8]).unwrap();
        reference.load(TableId(0), key, &[1; WORDS * 8]);
    }
    drop(loader);
    let mut worker: Worker<'_, C> = database.worker();
    for steps in transactions {
        let steps = allowed(steps, index.is_ordered());
        let expected = reference.transact(|tables| run(tables, &steps));
        let got = worker.transact(|tables| run(tables, &steps));
        match (&got, &expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{steps:?}"),
            (Err(got), Err(expected)) => assert!(same_failure(got, expected), "{got} {expected}"),
            _ => panic!("{}: {got:?}, {expected:?}", C::KIND.name()),
        }
    }
    assert_eq!(worker.counts().retries, 0, "one thread is in nobody's way");
    drop(worker);
    let mut tables = database.quiescent();
    for key in (0..8).chain([u64::MAX]) {
        for schema in &schemas {
            let (mut got, mut expected) = ([0; WORDS * 8], [0; WORDS * 8]);
            let is_there = reference.read(schema.id, key, &mut expected).unwrap();
            assert_eq!(tables.read(schema.id, key, &mut got).unwrap(), is_there);
            assert!(!is_there || got == expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_kind_over_every_index_does_what_the_reference_does(
        transactions in proptest::collection::vec(proptest::collection::vec(step(), 1..8), 1..60),
    ) {
        for index in IndexKind::ALL {
            every_kind!(compare(index, &transactions));
        }
    }
}
