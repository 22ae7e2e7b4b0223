//! Small desks in private servers, and their slow twins.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use assay_load::clients::Open;
use assay_load::data::{Data, Progress, prepare};
use assay_load::trade_desk::final_state;
use assay_wire::sql::Session;
use assay_wire::{Target, mysql, postgres};
use assay_workload::reference::ReferenceTables;
use assay_workload::tables::Row;
use assay_workload::trade_desk::rows::Catalogue;
use assay_workload::trade_desk::{Ledger, Parameters, Plan, TABLES, check};

use crate::support::block_on;
use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;

pub const USERS: u16 = 16;

/// Few instruments and few accounts, so that everything meets and many have too little.
pub fn parameters() -> Parameters {
    Parameters {
        users: USERS,
        accounts: 12,
        instruments: 4,
        theta: 0.9,
        catalogue_share: 0.1,
        report_share: 0.0,
        trade_think_time: Duration::ZERO,
        request_think_time: Duration::ZERO,
        seed: 42,
    }
}

pub fn plan() -> Plan {
    Plan::new(parameters()).unwrap()
}

pub fn twin(plan: &Plan) -> ReferenceTables {
    let mut tables = ReferenceTables::new(&TABLES);
    plan.load(|table, key, row| tables.load(table, key, row));
    tables
}

/// A database of its own for one test.
pub struct Database {
    pub target: Target,
}

/// A name for a database that no other test uses.
fn next_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("desk{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn on_postgres() -> Database {
    let (server, name) = (Postgres::shared(), next_name());
    server.create(&name);
    Database { target: server.target(&name) }
}

pub fn on_mariadb() -> Database {
    let (server, name) = (MariaDb::shared(), next_name());
    server.create(&name);
    Database { target: server.target(&name) }
}

impl Database {
    /// A session on the worker of this thread.
    pub fn open<S: Open>(&self) -> S {
        block_on(S::open(&crate::support::handle(), &self.target)).unwrap()
    }

    /// Loads a desk, over some sessions at once; the rows that loading says it loaded.
    pub fn load<S: Open>(&self, plan: &Plan) -> u64 {
        let (progress, never) = (Progress::default(), AtomicBool::new(false));
        prepare::<S, _>(plan, &self.target, 2, 4, &progress, &never).unwrap();
        progress.rows.load(Ordering::Relaxed)
    }
}

pub type Maria = mysql::Session;
pub type Pg = postgres::Session;

/// All tables but the catalogue's, which a server keeps in its own way.
pub fn assert_same(found: &ReferenceTables, expected: &ReferenceTables) {
    for schema in TABLES.iter().filter(|schema| schema.id < Catalogue::TABLE) {
        let (name, id) = (schema.name, schema.id);
        assert_eq!(found.count(id), expected.count(id), "rows of {name}");
        for (found, expected) in found.rows(id).zip(expected.rows(id)) {
            assert_eq!(found, expected, "table {name}");
        }
    }
}

/// The names of the invariants that do not hold, each once; `Data::check` must say the same.
pub fn violated<S: Open>(session: &mut S) -> Vec<&'static str> {
    let mut tables = block_on(final_state::read(session)).unwrap();
    let violations = check(&Ledger::read(&mut tables).unwrap(), &parameters());
    let said = block_on(plan().check(session, false)).unwrap();
    assert_eq!(said, violations.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut names: Vec<_> = violations.iter().map(|violation| violation.invariant).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Runs a statement.
pub fn run_text<S: Session>(session: &mut S, text: &str) {
    block_on(session.batch(text)).unwrap();
}
