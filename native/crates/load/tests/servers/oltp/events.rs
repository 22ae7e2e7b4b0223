//! Events on real servers against their slow twin, and what becomes of events that fail.

use std::collections::BTreeMap;

use assay_load::oltp::{Counts, OltpError, Outcome, Statements, create, finish, load, run_event};
use assay_wire::sql::{Session, Type};
use assay_wire::{ServerErrorKind, WireError};
use assay_workload::oltp::{Distribution, Event, Parameters, Plan, Row, Statement, Test};

use crate::support::block_on;
use crate::support::mariadb::MariaDb;
use crate::support::postgres::Postgres;

fn parameters(test: Test) -> Parameters {
    Parameters {
        tables: 2,
        table_size: 60,
        range_size: 10,
        index_updates: 3,
        distribution: Distribution::Uniform,
        ..Parameters::defaults(test, 5)
    }
}

async fn prepare<S: Session>(session: &mut S, plan: &Plan) -> Statements {
    create(session, plan).await.unwrap();
    for table in 1..=plan.parameters().tables {
        load(session, plan, table, 1..plan.parameters().table_size + 1).await.unwrap();
    }
    finish(session, plan).await.unwrap();
    Statements::prepare(session, plan).await.unwrap()
}

/// The tables as maps.
#[derive(PartialEq, Debug)]
struct Twin(BTreeMap<(u32, u32), Row>);

impl Twin {
    fn new(plan: &Plan) -> Self {
        let ids = 1..=plan.parameters().table_size;
        let tables = 1..=plan.parameters().tables;
        let rows = tables.flat_map(|table| ids.clone().map(move |id| (table, id)));
        Self(rows.map(|(table, id)| ((table, id), plan.row(table, id))).collect())
    }

    /// Returns how many rows a SELECT sees.
    fn run(&mut self, statement: &Statement) -> usize {
        let range =
            |table: u32, first: u32, last: u32| self.0.range((table, first)..=(table, last));
        match *statement {
            Statement::Begin | Statement::Commit => return 0,
            Statement::PointSelect { table, id } => return range(table, id, id).count(),
            Statement::SumRange { .. } => return 1,
            Statement::SimpleRange { table, first, last }
            | Statement::OrderRange { table, first, last } => {
                return range(table, first, last).count();
            }
            Statement::DistinctRange { table, first, last } => {
                let texts = range(table, first, last).map(|(_, row)| row.c);
                return texts.collect::<std::collections::BTreeSet<_>>().len();
            }
            Statement::IndexUpdate { table, id } => self.0.get_mut(&(table, id)).unwrap().k += 1,
            Statement::NonIndexUpdate { table, id, c } => {
                self.0.get_mut(&(table, id)).unwrap().c = c;
            }
            Statement::Delete { table, id } => drop(self.0.remove(&(table, id)).unwrap()),
            Statement::Insert { table, id, k, c, pad } => {
                assert_eq!(self.0.insert((table, id), Row { id, k, c, pad }), None);
            }
        }
        0
    }
}

/// The tables of a server, in the form of the twin.
async fn state<S: Session>(session: &mut S, plan: &Plan) -> Twin {
    let mut rows = BTreeMap::new();
    for table in 1..=plan.parameters().tables {
        let select = format!("SELECT id, k, c, pad FROM sbtest{table} WHERE id > ?");
        let select = session.prepare(&select, &[Type::Int]).await.unwrap();
        let visit = |row: &S::Row<'_>| {
            use assay_wire::sql::Row as _;
            let int = |column| row.int(column).unwrap().unwrap() as u32;
            // PostgreSQL pads CHAR with spaces.
            let text = |column| row.text(column).unwrap().unwrap().trim_ascii_end();
            let (c, pad) = (text(2).try_into().unwrap(), text(3).try_into().unwrap());
            rows.insert((table, int(0)), Row { id: int(0), k: int(1), c, pad });
            Ok(())
        };
        session.run(select, &[assay_wire::sql::Value::Int(0)], visit).await.unwrap();
    }
    Twin(rows)
}

async fn assert_twins<S: Session>(session: &mut S) {
    for test in Test::ALL {
        let plan = Plan::new(parameters(test)).unwrap();
        let statements = prepare(session, &plan).await;
        let mut twin = Twin::new(&plan);
        assert_eq!(state(session, &plan).await, twin, "{test:?} before the run");
        let (mut event, mut counts) = (Event::default(), Counts::default());
        let (mut stream, mut rows) = (plan.stream(0), 0);
        for _ in 0..40 {
            stream.take(&mut event);
            rows += event.statements.iter().map(|one| twin.run(one)).sum::<usize>();
            let outcome = run_event(session, &statements, &event, &mut counts).await.unwrap();
            assert_eq!(outcome, Outcome::Done);
        }
        assert_eq!(state(session, &plan).await, twin, "{test:?} after the run");
        assert_eq!(counts.rows, rows as u64, "{test:?}: rows read");
    }
}

#[test]
fn the_same_events_leave_mariadb_as_their_twin() {
    let maria = MariaDb::shared();
    maria.create("twins");
    block_on(assert_twins(&mut maria.session("twins")));
}

#[test]
fn the_same_events_leave_postgres_as_their_twin() {
    let postgres = Postgres::shared();
    postgres.create("twins");
    block_on(assert_twins(&mut postgres.session("twins")));
}

/// An event that updates two rows, of which another session locks the second.
async fn assert_lock_timeout<S: Session>(session: &mut S, other: &mut S) {
    let plan = Plan::new(parameters(Test::ReadWrite)).unwrap();
    let statements = prepare(session, &plan).await;
    let update = |id| Statement::IndexUpdate { table: 1, id };
    let statements_of_event = vec![Statement::Begin, update(1), update(2), Statement::Commit];
    let event = Event { statements: statements_of_event };
    let mut counts = Counts::default();

    other.batch("BEGIN").await.unwrap();
    other.batch("UPDATE sbtest1 SET pad='' WHERE id=2").await.unwrap();
    let outcome = run_event(session, &statements, &event, &mut counts).await.unwrap();
    other.batch("ROLLBACK").await.unwrap();
    assert_eq!(outcome, Outcome::GivenUp(ServerErrorKind::LockTimeout));
    // BEGIN and ROLLBACK; the first update; the second was not answered.
    assert_eq!(counts, Counts { writes: 1, others: 2, errors: 1, ..Counts::default() });
    assert_eq!(state(session, &plan).await, Twin::new(&plan), "nothing of the event is left");

    let outcome = run_event(session, &statements, &event, &mut counts).await.unwrap();
    assert_eq!(outcome, Outcome::Done, "the session goes on");
    assert_ne!(state(session, &plan).await, Twin::new(&plan));
}

#[test]
fn an_event_that_meets_a_lock_is_undone_as_a_whole_and_counted() {
    let maria = MariaDb::shared();
    maria.create("locks");
    block_on(assert_lock_timeout(&mut maria.session("locks"), &mut maria.session("locks")));
    let postgres = Postgres::shared();
    postgres.create("locks");
    let mut session = postgres.session("locks");
    block_on(session.batch("SET lock_timeout = '100ms'")).unwrap();
    block_on(assert_lock_timeout(&mut session, &mut postgres.session("locks")));
}

async fn insert_twice<S: Session>(session: &mut S) -> Result<Outcome, OltpError> {
    let plan = Plan::new(parameters(Test::ReadWrite)).unwrap();
    let statements = prepare(session, &plan).await;
    let Row { id, k, c, pad } = plan.row(1, 7);
    let insert = Statement::Insert { table: 1, id, k, c, pad };
    let event = Event { statements: vec![Statement::Begin, insert, Statement::Commit] };
    run_event(session, &statements, &event, &mut Counts::default()).await
}

#[test]
fn a_duplicate_key_gives_up_the_event_on_postgres_and_ends_the_run_on_mariadb() {
    let maria = MariaDb::shared();
    maria.create("duplicates");
    let error = block_on(insert_twice(&mut maria.session("duplicates"))).unwrap_err();
    let kind = ServerErrorKind::DuplicateKey;
    assert!(
        matches!(error, OltpError::Wire(WireError::Server { kind: met, .. }) if met == kind),
        "{error}"
    );
    let postgres = Postgres::shared();
    postgres.create("duplicates");
    let outcome = block_on(insert_twice(&mut postgres.session("duplicates"))).unwrap();
    assert_eq!(outcome, Outcome::GivenUp(kind));
}

/// Threads that fight for four rows: every event is done or given up, and no row gets lost.
fn assert_fight<S: Session>(connect: impl Fn() -> S + Sync) {
    let fight = Parameters { tables: 1, table_size: 4, ..parameters(Test::ReadWrite) };
    let plan = Plan::new(fight).unwrap();
    block_on(prepare(&mut connect(), &plan));
    let run = |thread| {
        let mut session = connect();
        let statements = block_on(Statements::prepare(&mut session, &plan)).unwrap();
        let (mut stream, mut event) = (plan.stream(thread), Event::default());
        let (mut counts, mut given_up) = (Counts::default(), 0);
        for _ in 0..40 {
            stream.take(&mut event);
            let outcome =
                block_on(run_event(&mut session, &statements, &event, &mut counts)).unwrap();
            given_up += u64::from(outcome != Outcome::Done);
        }
        assert_eq!(counts.errors, given_up);
        assert_eq!(counts.others, 80, "a COMMIT or a ROLLBACK for each BEGIN");
    };
    std::thread::scope(|scope| (0..3).for_each(|thread| drop(scope.spawn(move || run(thread)))));
    let ids: Vec<u32> =
        block_on(state(&mut connect(), &plan)).0.into_keys().map(|(_, id)| id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn sessions_that_fight_for_rows_go_on_and_lose_none() {
    let maria = MariaDb::shared();
    maria.create("fight");
    assert_fight(|| maria.session("fight"));
    let postgres = Postgres::shared();
    postgres.create("fight");
    assert_fight(|| postgres.session("fight"));
}

#[test]
fn an_event_of_other_parameters_is_refused() {
    let postgres = Postgres::shared();
    postgres.create("other");
    let mut session = postgres.session("other");
    let plan = Plan::new(parameters(Test::PointSelect)).unwrap();
    let statements = block_on(prepare(&mut session, &plan));
    for statement in [
        Statement::PointSelect { table: 3, id: 1 },
        Statement::PointSelect { table: 0, id: 1 },
        Statement::Delete { table: 1, id: 1 },
    ] {
        let event = Event { statements: vec![statement] };
        let mut counts = Counts::default();
        let run = run_event(&mut session, &statements, &event, &mut counts);
        let error = block_on(run).unwrap_err();
        assert!(error.to_string().contains("not prepared"), "{error}");
    }
}
