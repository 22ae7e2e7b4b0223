//! Small databases in private servers, and their slow twins.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use assay_load::tpcc::schema::Options;
use assay_load::tpcc::{load, schema};
use assay_wire::sql::Session;
use assay_workload::reference::ReferenceTables;
use assay_workload::tpcc::{Home, Parameters, Plan, Scale, Selection, TABLES};

use crate::servers::Server;
use crate::slow_mysql::SlowMySql;
use crate::slow_postgres::SlowPostgres;

const SEED: u64 = 42;

/// The slow sessions never wait.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a slow session waited"),
    }
}

pub fn plan(warehouses: u16) -> Plan {
    let scale = Scale::small(warehouses);
    let parameters = Parameters {
        scale,
        selection: Selection::Deck,
        home: Home::Drawn,
        has_waits: false,
        seed: SEED,
    };
    Plan::new(parameters).unwrap()
}

pub fn twin(plan: &Plan) -> ReferenceTables {
    let mut tables = ReferenceTables::new(&TABLES);
    plan.load_items(|table, key, row| tables.load(table, key, row));
    for warehouse in 1..=plan.parameters().scale.warehouses {
        plan.load_warehouse(warehouse, |table, key, row| tables.load(table, key, row));
    }
    tables
}

/// A database of its own for one test.
pub struct Database<S> {
    pub open: Box<dyn Fn() -> S + Sync>,
}

pub fn postgres() -> Database<SlowPostgres> {
    let server = Server::postgres();
    let (port, name) = (server.port, server.next_database());
    let mut first = SlowPostgres::open(port, "postgres");
    now(first.batch(&format!("CREATE DATABASE {name}"))).unwrap();
    Database { open: Box::new(move || SlowPostgres::open(port, &name)) }
}

pub fn mariadb() -> Database<SlowMySql> {
    let server = Server::mariadb();
    let (port, name) = (server.port, server.next_database());
    let mut first = SlowMySql::open(port, "mysql");
    now(first.batch(&format!("CREATE DATABASE {name}"))).unwrap();
    Database { open: Box::new(move || SlowMySql::open(port, &name)) }
}

/// Loads everything; the rows that loading says it loaded.
pub fn load_all<S: Session>(session: &mut S, plan: &Plan, options: Options) -> u64 {
    now(schema::remove(session)).unwrap();
    now(schema::create(session)).unwrap();
    let mut told = 0;
    let items = now(load::items(session, plan, |loaded| told = loaded.rows)).unwrap();
    assert_eq!(told, items.rows);
    let mut rows = items.rows;
    for warehouse in 1..=plan.parameters().scale.warehouses {
        let loaded = now(load::warehouse(session, plan, warehouse, |_| ())).unwrap();
        assert!(loaded.bytes > loaded.rows * 10 && loaded.statements > 9, "{loaded:?}");
        rows += loaded.rows;
    }
    now(schema::finish(session, options)).unwrap();
    rows
}

pub fn assert_same(found: &ReferenceTables, expected: &ReferenceTables) {
    for schema in &TABLES {
        let (name, id) = (schema.name, schema.id);
        assert_eq!(found.count(id), expected.count(id), "rows of {name}");
        for (found, expected) in found.rows(id).zip(expected.rows(id)) {
            assert_eq!(found, expected, "table {name}");
        }
    }
}
