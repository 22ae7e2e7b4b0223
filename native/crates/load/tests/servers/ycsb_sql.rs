//! YCSB on real servers against its slow twin.

use std::collections::BTreeMap;

use assay_load::ycsb::sql::{Statements, Verify, create, load, run};
use assay_load::ycsb::{KeyText, YcsbError};
use assay_wire::sql::{Row, Session, Type, Value};
use assay_workload::hash::fnv1a_64;
use assay_workload::{Mix, Operation, OperationKind, Plan};

use crate::support::block_on;
use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;
use crate::support::ycsb_twin::{OPERATIONS, RECORDS, Twin, parameters};

async fn records<S: Session>(session: &mut S) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let select = "SELECT * FROM usertable WHERE YCSB_KEY > ?";
    let select = session.prepare(select, &[Type::Text]).await.unwrap();
    let mut records = BTreeMap::new();
    let visit = |row: &S::Row<'_>| {
        let text = |column| row.text(column).unwrap().unwrap().to_vec();
        records.insert(text(0), (1..row.columns()).map(text).collect());
        Ok(())
    };
    session.run(select, &[Value::Text(b"")], visit).await.unwrap();
    records
}

async fn prepare<S: Session>(session: &mut S, plan: &Plan) -> Statements {
    create(session, plan).await.unwrap();
    // Parts in any order, none of them a multiple of the rows of a statement.
    for part in [101..RECORDS, 0..40, 40..101] {
        load(session, plan, part).await.unwrap();
    }
    Statements::prepare(session, plan).await.unwrap()
}

async fn assert_twins<S: Session>(session: &mut S) {
    for mix in Mix::ALL {
        let plan = Plan::new(parameters(mix)).unwrap();
        let mut twin = Twin::new(&plan);
        let statements = prepare(session, &plan).await;
        assert_eq!(records(session).await, twin.records, "{mix:?} before the run");
        let mut stream = plan.stream(0, 0);
        for _ in 0..OPERATIONS {
            let Some(operation) = stream.take() else { break };
            let read = run(session, &statements, &stream, &operation, Verify::Values);
            assert_eq!(read.await.unwrap(), twin.run(&operation), "{mix:?} {operation:?}");
        }
        assert_eq!(records(session).await, twin.records, "{mix:?} after the run");
        let inserted = plan.keys().readable() - RECORDS;
        assert_eq!(twin.records.len() as u64, RECORDS + inserted, "{mix:?}: acknowledged");
        assert_eq!(inserted > 0, matches!(mix, Mix::D | Mix::E), "{mix:?}");
    }
}

#[test]
fn the_same_operations_leave_mariadb_as_their_twin() {
    let server = MariaDb::shared();
    server.create("ycsb_twins");
    block_on(assert_twins(&mut server.session("ycsb_twins")));
}

#[test]
fn the_same_operations_leave_postgres_as_their_twin() {
    let server = Postgres::shared();
    server.create("ycsb_twins");
    block_on(assert_twins(&mut server.session("ycsb_twins")));
}

/// The message of a read of record 0 after `damage`; nothing if the read is content.
async fn read_after<S: Session>(session: &mut S, damage: &str, verify: Verify) -> Option<String> {
    let plan = Plan::new(parameters(Mix::C)).unwrap();
    let statements = prepare(session, &plan).await;
    let key = KeyText::new(fnv1a_64(0)).to_string();
    session.batch(&damage.replace("KEY0", &format!("'{key}'"))).await.unwrap();
    let mut stream = plan.stream(0, 0);
    let operation = Operation { key: fnv1a_64(0), number: 0, ..stream.take().unwrap() };
    let read = run(session, &statements, &stream, &operation, verify).await;
    read.err().map(|error| {
        let message = error.to_string();
        assert!(message.contains(&key), "{message}");
        message
    })
}

#[test]
fn a_read_of_a_torn_or_missing_record_is_an_error() {
    let server = Postgres::shared();
    server.create("damage");
    let mut session = server.session("damage");
    let torn = "UPDATE usertable SET FIELD3 = overlay(FIELD3 placing '~~' from 7) \
                WHERE YCSB_KEY = KEY0";
    let null = "UPDATE usertable SET FIELD9 = NULL WHERE YCSB_KEY = KEY0";
    let gone = "DELETE FROM usertable WHERE YCSB_KEY = KEY0";
    let wider = "ALTER TABLE usertable ADD COLUMN extra TEXT";
    for (damage, verify, expected) in [
        ("SELECT 1", Verify::Values, None),
        (torn, Verify::Values, Some("field 3 is no whole value")),
        (torn, Verify::Presence, None),
        (null, Verify::Values, Some("field 9 is no whole value")),
        (gone, Verify::Values, Some("no record")),
        (gone, Verify::Presence, Some("no record")),
    ] {
        let message = block_on(read_after(&mut session, damage, verify));
        match expected {
            None => assert_eq!(message, None, "{damage}"),
            Some(words) => assert!(message.unwrap().contains(words), "{damage}"),
        }
    }
    drop(session);
    let server = MariaDb::shared();
    server.create("damage");
    let message = block_on(read_after(&mut server.session("damage"), wider, Verify::Values));
    assert!(message.unwrap().contains("12 columns instead of 11"));
}

#[test]
fn an_insert_that_fails_is_acknowledged_all_the_same() {
    let server = MariaDb::shared();
    server.create("inserts");
    let mut session = server.session("inserts");
    let plan = Plan::new(parameters(Mix::D)).unwrap();
    let statements = block_on(prepare(&mut session, &plan));
    let mut stream = plan.stream(0, 0);
    let mut taken = std::iter::from_fn(|| stream.take());
    let insert = taken.find(|operation| operation.kind == OperationKind::Insert).unwrap();
    block_on(session.batch("DROP TABLE usertable")).unwrap();
    let failed = block_on(run(&mut session, &statements, &stream, &insert, Verify::Values));
    assert!(matches!(failed, Err(YcsbError::Wire(_))));
    assert_eq!(plan.keys().readable(), RECORDS + 1);
}
