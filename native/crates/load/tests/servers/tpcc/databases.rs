//! Small databases in private servers, and their slow twins.

use std::sync::atomic::{AtomicU32, Ordering};

use assay_load::tpcc::schema::Options;
use assay_load::tpcc::{load, schema};
use assay_wire::sql::Session;
use assay_wire::{mysql, postgres};
use assay_workload::reference::ReferenceTables;
use assay_workload::tpcc::{Home, Parameters, Plan, Scale, Selection, TABLES};

use crate::support::block_on;
use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;

const SEED: u64 = 42;

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
    /// Opens a session on the worker of this thread.
    pub open: Box<dyn Fn() -> S + Sync>,
}

/// A name for a database that no other test uses.
fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("tpcc{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn postgres() -> Database<postgres::Session> {
    let (server, name) = (Postgres::shared(), next_name());
    server.create(&name);
    Database { open: Box::new(move || server.session(&name)) }
}

pub fn mariadb() -> Database<mysql::Session> {
    let (server, name) = (MariaDb::shared(), next_name());
    server.create(&name);
    Database { open: Box::new(move || server.session(&name)) }
}

/// Loads everything; the rows that loading says it loaded.
pub fn load_all<S: Session>(session: &mut S, plan: &Plan, options: Options) -> u64 {
    block_on(schema::remove(session)).unwrap();
    block_on(schema::create(session)).unwrap();
    let mut told = 0;
    let items = block_on(load::items(session, plan, |loaded| told = loaded.rows)).unwrap();
    assert_eq!(told, items.rows);
    let mut rows = items.rows;
    for warehouse in 1..=plan.parameters().scale.warehouses {
        let loaded = block_on(load::warehouse(session, plan, warehouse, |_| ())).unwrap();
        assert!(loaded.bytes > loaded.rows * 10 && loaded.statements > 9, "{loaded:?}");
        rows += loaded.rows;
    }
    block_on(schema::finish(session, options)).unwrap();
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
