//! TPC-C in PostgreSQL and MariaDB: the same seed leaves the same rows as in the slow twin.
//!
//! The servers are real and private to this process; the sessions are ours.

mod counted;
pub mod databases;
pub mod shaped;

use std::collections::BTreeMap;

use assay_load::tpcc::schema::Options;
use assay_load::tpcc::{Ending, Terminal, census, final_state, schema};
use assay_wire::ServerErrorKind;
use assay_wire::sql::Session;
use assay_workload::reference::ReferenceAbort;
use assay_workload::tables::Row;
use assay_workload::tpcc::draws::last_name;
use assay_workload::tpcc::inputs::{CustomerChoice, OrderStatusInput};
use assay_workload::tpcc::rows::Stock;
use assay_workload::tpcc::{
    Input, Kind, Outcome, Plan, Stream, TABLES, Violation, check_after_loading,
    check_after_running, run,
};
use counted::Counted;
use databases::{Database, assert_same, load_all, mariadb, plan, postgres, twin};

use crate::support::block_on;

const TRANSACTIONS: usize = 500;

fn violations<S: Session>(session: &mut S) -> Vec<Violation> {
    check_after_running(&block_on(census::read(session)).unwrap())
}

fn loading<S: Session>(database: Database<S>) {
    let mut session = (database.open)();
    for (warehouses, has_foreign_keys) in [(2, false), (1, true)] {
        let plan = plan(warehouses);
        let rows = load_all(&mut session, &plan, Options { has_foreign_keys });
        let expected = twin(&plan);
        let indexes = ["customer_by_name", "order_by_customer"];
        let tables = TABLES.iter().filter(|table| !indexes.contains(&table.name));
        let counts = tables.map(|table| expected.count(table.id) as u64);
        assert_eq!(rows, counts.sum::<u64>());
        assert_same(&block_on(final_state::read(&mut session)).unwrap(), &expected);
        let census = block_on(census::read(&mut session)).unwrap();
        assert_eq!(check_after_loading(&census, &plan.parameters().scale), []);
    }
}

#[test]
fn loading_postgres_gives_the_rows_of_the_twin_and_all_conditions_hold() {
    loading(postgres());
}

#[test]
fn loading_mariadb_gives_the_rows_of_the_twin_and_all_conditions_hold() {
    loading(mariadb());
}

/// The first stream that has a New-Order to be rolled back soon.
fn stream_with_roll_back(plan: &Plan) -> Stream {
    let unused = plan.parameters().scale.unused_item();
    let is_rolled_back = |input: &Input| match input {
        Input::NewOrder(input) => input.lines().iter().any(|line| line.item == unused),
        _ => false,
    };
    let has = |thread: &usize| {
        let mut stream = plan.stream(*thread);
        (0..TRANSACTIONS).any(|_| is_rolled_back(&stream.take().input))
    };
    plan.stream((0..100).find(has).unwrap())
}

/// Runs one stream on a server and on the twin, and compares every outcome and then every row.
fn running<S: Session>(database: Database<S>) {
    let plan = plan(2);
    let mut session = (database.open)();
    load_all(&mut session, &plan, Options::default());
    let mut expected = twin(&plan);
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let mut stream = stream_with_roll_back(&plan);
    let (mut seen, mut rolled_back) = (BTreeMap::new(), 0);
    for place in 0..TRANSACTIONS {
        let input = stream.take().input;
        *seen.entry(input.kind().name()).or_insert(0) += 1;
        let ending = block_on(terminal.run(&input)).unwrap();
        match expected.transact(|tables| run(tables, &input)) {
            Ok(outcome) => assert_eq!(ending, Ending::Committed(outcome), "{place}: {input:?}"),
            Err(ReferenceAbort::Requested) => {
                assert_eq!(ending, Ending::RolledBack, "{place}: {input:?}");
                rolled_back += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(rolled_back > 0 && seen.len() == Kind::ALL.len(), "{rolled_back} of {seen:?}");
    let mut session = terminal.into_session();
    assert_same(&block_on(final_state::read(&mut session)).unwrap(), &expected);
    assert_eq!(violations(&mut session), []);
}

#[test]
fn one_stream_leaves_the_same_rows_in_postgres_as_in_the_twin() {
    running(postgres());
}

#[test]
fn one_stream_leaves_the_same_rows_in_mariadb_as_in_the_twin() {
    running(mariadb());
}

/// Runs one stream, trying again what the server gave up; how often that was.
fn drive<S: Session>(session: S, plan: &Plan, thread: usize) -> usize {
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let mut stream = plan.stream(thread);
    stream.skip_past(block_on(terminal.last_history(thread)).unwrap());
    let mut conflicts = 0;
    for _ in 0..TRANSACTIONS {
        let input = stream.take().input;
        while let Ending::Conflict(_) = block_on(terminal.run(&input)).unwrap() {
            conflicts += 1;
        }
    }
    conflicts
}

/// One warehouse, so that everything meets.
fn concurrency<S: Session>(database: Database<S>) {
    let plan = plan(1);
    let mut session = (database.open)();
    load_all(&mut session, &plan, Options::default());
    // The second time the same terminals come again: none of their keys may be used twice.
    for _ in 0..2 {
        let conflicts: usize = std::thread::scope(|scope| {
            let drivers: Vec<_> = (0..2)
                .map(|thread| {
                    let (open, plan) = (&database.open, &plan);
                    scope.spawn(move || drive(open(), plan, thread))
                })
                .collect();
            drivers.into_iter().map(|driver| driver.join().unwrap()).sum()
        });
        assert!(conflicts < TRANSACTIONS, "{conflicts} conflicts");
    }
    assert_eq!(violations(&mut session), []);
    let census = block_on(census::read(&mut session)).unwrap();
    let orders = census.orders.len();
    assert!(orders > 600 + 2 * 2 * 200, "{orders} orders");
    // What was taken from a stock is S_YTD, and each refill was 91: a lost update would show.
    let (before, after) = (twin(&plan), block_on(final_state::read(&mut session)).unwrap());
    for ((_, before), (key, after)) in before.rows(Stock::TABLE).zip(after.rows(Stock::TABLE)) {
        let (before, after) = (stock(before), stock(after));
        let missing = before.quantity() - after.quantity() - after.ytd() as i64;
        assert_eq!(missing % 91, 0, "stock {key:#x}: {before:?} became {after:?}");
    }
}

fn stock(bytes: &[u8]) -> Stock {
    let mut row = Stock::zeroed();
    row.bytes_mut().copy_from_slice(bytes);
    row
}

#[test]
fn two_concurrent_streams_leave_postgres_consistent() {
    concurrency(postgres());
}

#[test]
fn two_concurrent_streams_leave_mariadb_consistent() {
    concurrency(mariadb());
}

/// How something is broken, what it is, and the conditions that must say so.
const SEEDED: [(&str, &str, &[u8]); 8] = [
    ("UPDATE warehouse SET w_ytd = 1 WHERE w_id = 1", "W_YTD", &[1, 8]),
    ("UPDATE district SET d_next_o_id = 9 WHERE d_w_id = 1 AND d_id = 3", "D_NEXT_O_ID", &[2]),
    (
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 50",
        "a new order in the middle",
        &[3, 5],
    ),
    (
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 60 \
         AND ol_number = 5",
        "a line",
        &[4, 6],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = 0 WHERE ol_w_id = 1 AND ol_d_id = 1 \
         AND ol_o_id = 7 AND ol_number = 1",
        "a delivery date",
        &[7],
    ),
    ("DELETE FROM history WHERE h_writer = 0 AND h_seq = 661", "a payment", &[8, 9, 10]),
    (
        "UPDATE customer SET c_balance = 7 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
        "C_BALANCE",
        &[10, 12],
    ),
    (
        "UPDATE orders SET o_carrier_id = 0 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
        "a carrier",
        &[5, 7],
    ),
];

/// Breaks one thing after the other; between them the table is put back from a copy.
fn corruption<S: Session>(database: Database<S>) {
    let plan = plan(1);
    let mut session = (database.open)();
    load_all(&mut session, &plan, Options::default());
    for (change, what, expected) in SEEDED {
        let table = change.split(' ').nth(if change.starts_with('U') { 1 } else { 2 }).unwrap();
        block_on(session.batch(&format!("CREATE TABLE kept AS SELECT * FROM {table}"))).unwrap();
        block_on(session.batch(change)).unwrap();
        let mut caught: Vec<u8> =
            violations(&mut session).iter().map(|violation| violation.condition).collect();
        caught.sort_unstable();
        caught.dedup();
        assert_eq!(caught, expected, "{what}");
        for text in [
            format!("DELETE FROM {table}"),
            format!("INSERT INTO {table} SELECT * FROM kept"),
            "DROP TABLE kept".to_owned(),
        ] {
            block_on(session.batch(&text)).unwrap();
        }
    }
    assert_eq!(violations(&mut session), []);
}

#[test]
fn a_corrupted_row_in_postgres_makes_its_conditions_fail() {
    corruption(postgres());
}

#[test]
fn a_corrupted_row_in_mariadb_makes_its_conditions_fail() {
    corruption(mariadb());
}

/// At the small scale every last name is one customer's: here some become namesakes.
fn namesakes<S: Session>(database: Database<S>) {
    let plan = plan(1);
    let mut session = (database.open)();
    load_all(&mut session, &plan, Options::default());
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let last = last_name(7);
    // The middle one after each, in the order of bytes: capital letters come first.
    for (number, first, middle) in
        [(8, "mia", 8), (20, "Ada", 20), (3, "Zoe", 3), (40, "Bob", 40), (9, "cyd", 3)]
    {
        let change = format!(
            "UPDATE customer SET c_last = '{last}', c_first = '{first}' \
             WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = {number}"
        );
        block_on(terminal.session_mut().batch(&change)).unwrap();
        let customer = CustomerChoice::LastName(7);
        let input = OrderStatusInput { warehouse: 1, district: 1, customer };
        let ending = block_on(terminal.run(&Input::OrderStatus(input))).unwrap();
        let Ending::Committed(Outcome::OrderStatus(status)) = ending else { panic!("{ending:?}") };
        assert_eq!(status.customer, middle, "after {first}");
    }
}

#[test]
fn a_name_finds_the_middle_customer_in_postgres() {
    namesakes(postgres());
}

#[test]
fn a_name_finds_the_middle_customer_in_mariadb() {
    namesakes(mariadb());
}

/// Another session holds a row; the one that has to wait for it gives up at once.
fn lock_timeout<S: Session>(database: Database<S>, no_patience: &str) {
    let plan = plan(1);
    let mut holder = (database.open)();
    load_all(&mut holder, &plan, Options::default());
    let mut session = (database.open)();
    block_on(session.batch(no_patience)).unwrap();
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let mut stream = plan.stream(0);
    for kind in [Kind::NewOrder, Kind::Payment, Kind::Delivery] {
        let input = loop {
            let input = stream.take().input;
            if input.kind() == kind {
                break input;
            }
        };
        block_on(holder.batch("BEGIN")).unwrap();
        block_on(holder.batch("UPDATE warehouse SET w_ytd = w_ytd + 1")).unwrap();
        block_on(holder.batch("UPDATE customer SET c_balance = c_balance + 1")).unwrap();
        block_on(holder.batch("UPDATE stock SET s_ytd = s_ytd + 1")).unwrap();
        let ending = block_on(terminal.run(&input)).unwrap();
        assert_eq!(ending, Ending::Conflict(ServerErrorKind::LockTimeout), "{input:?}");
        block_on(holder.batch("ROLLBACK")).unwrap();
        assert_eq!(violations(&mut holder), [], "nothing of the first attempt is left");
        let ending = block_on(terminal.run(&input)).unwrap();
        assert!(matches!(ending, Ending::Committed(_)), "{ending:?}");
    }
    assert_eq!(violations(&mut holder), []);
}

#[test]
fn a_lock_timeout_in_postgres_leaves_nothing_and_can_be_tried_again() {
    lock_timeout(postgres(), "SET lock_timeout = '20ms'");
}

#[test]
fn a_lock_timeout_in_mariadb_leaves_nothing_and_can_be_tried_again() {
    lock_timeout(mariadb(), "SET innodb_lock_wait_timeout = 0");
}

/// The numbers that the module promises.
fn round_trips<S: Session>(database: Database<S>, expected: [u64; 5]) {
    let plan = plan(1);
    let mut session = Counted { session: (database.open)(), trips: 0 };
    load_all(&mut session, &plan, Options::default());
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let mut stream = plan.stream(0);
    let mut seen = [None; 5];
    while seen.contains(&None) {
        let input = stream.take().input;
        let before = terminal.session_mut().trips;
        let ending = block_on(terminal.run(&input)).unwrap();
        let taken = terminal.session_mut().trips - before;
        let by_name = matches!(&input, Input::Payment(input) if is_named(input.customer))
            || matches!(&input, Input::OrderStatus(input) if is_named(input.customer));
        if ending != Ending::RolledBack {
            seen[input.kind() as usize] = Some(taken - u64::from(by_name));
        }
    }
    assert_eq!(seen.map(Option::unwrap), expected);
}

fn is_named(choice: CustomerChoice) -> bool {
    matches!(choice, CustomerChoice::LastName(_))
}

#[test]
fn the_round_trips_to_postgres_are_as_few_as_promised() {
    round_trips(postgres(), [10, 6, 5, 15, 4]);
}

#[test]
fn the_round_trips_to_mariadb_are_as_few_as_promised() {
    round_trips(mariadb(), [11, 7, 5, 17, 4]);
}

#[test]
fn a_database_that_was_not_loaded_is_reported_with_table_and_key() {
    let mut session = (postgres().open)();
    block_on(schema::create(&mut session)).unwrap();
    let mut terminal = block_on(Terminal::new(session)).unwrap();
    let mut stream = plan(1).stream(0);
    let input = loop {
        let input = stream.take().input;
        if matches!(input, Input::NewOrder(_)) {
            break input;
        }
    };
    let error = block_on(terminal.run(&input)).unwrap_err().to_string();
    assert!(error.starts_with("table district has no row (1, "), "{error}");
    assert!(error.contains("was the database loaded"), "{error}");
    // The session goes on.
    block_on(terminal.session_mut().batch("COMMIT")).unwrap();
}
