//! One session after the other: outcomes, rows and round trips are those that were promised.

use std::collections::BTreeMap;

use assay_load::clients::Open;
use assay_load::data::Data;
use assay_load::trade_desk::{Desk, DeskError, Ending, final_state, schema};
use assay_workload::trade_desk::{Input, Kind, Outcome, run};

use super::cut::Cut;
use super::desks::{
    Database, Maria, Pg, USERS, assert_same, on_mariadb, on_postgres, plan, run_text, twin,
    violated,
};
use crate::support::block_on;

const REQUESTS: usize = 1500;

fn loading<S: Open>(database: &Database) {
    let plan = plan();
    let rows = database.load::<S>(&plan);
    assert_eq!((rows, plan.rows()), (64, 64), "quotes, cash and positions");
    let mut session: S = database.open();
    assert_same(&block_on(final_state::read(&mut session)).unwrap(), &twin(&plan));
    assert_eq!(block_on(plan.check(&mut session, true)).unwrap(), [""; 0]);
    run_text(&mut session, "DELETE FROM desk_quote WHERE q_instrument = 3");
    let faults = block_on(plan.check(&mut session, true)).unwrap();
    assert_eq!(faults, ["desk_quote has 3 rows instead of 4"]);
    block_on(plan.remove(&mut session)).unwrap();
    block_on(final_state::read(&mut session)).unwrap_err();
}

#[test]
fn a_loaded_desk_has_the_rows_of_the_twin_in_postgres() {
    loading::<Pg>(&on_postgres());
}

#[test]
fn a_loaded_desk_has_the_rows_of_the_twin_in_mariadb() {
    loading::<Maria>(&on_mariadb());
}

/// What came of each kind, so that a test can tell that nothing was left out.
type Seen = BTreeMap<(&'static str, bool), u64>;

/// Runs the users' streams in turn on a server and on the twin, and compares every outcome and
/// then every row.
fn running<S: Open>(database: &Database) {
    let plan = plan();
    database.load::<S>(&plan);
    let mut expected = twin(&plan);
    let mut desk = block_on(Desk::new(database.open::<S>())).unwrap();
    let mut streams: Vec<_> = (0..USERS).map(|user| plan.stream(user)).collect();
    let mut seen = Seen::new();
    let stations = streams.len();
    for turn in 0..REQUESTS {
        let input = streams[turn % stations].take().input;
        // One session has one temporary table at a time: users that share it do without.
        let is_catalogue =
            matches!(input, Input::CreateTemporary { .. } | Input::DropTemporary { .. });
        let outcome = expected.transact(|tables| run(tables, &input)).unwrap();
        if !is_catalogue {
            let ending = block_on(desk.run(&input)).unwrap();
            assert_eq!(ending, Ending::Committed(outcome), "{turn}: {input:?}");
        }
        *seen.entry((input.kind().name(), outcome == Outcome::Refused)).or_insert(0) += 1;
    }
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Report) {
        assert!(seen.contains_key(&(kind.name(), false)), "{kind:?}: {seen:?}");
    }
    for kind in [Kind::PlaceOrder, Kind::Trade, Kind::Cancel] {
        assert!(seen.contains_key(&(kind.name(), true)), "{kind:?}: {seen:?}");
    }
    let mut session = desk.into_session();
    assert_same(&block_on(final_state::read(&mut session)).unwrap(), &expected);
    assert_eq!(violated(&mut session), [""; 0]);
}

#[test]
fn the_same_seed_leaves_the_same_rows_in_postgres_as_in_the_twin() {
    running::<Pg>(&on_postgres());
}

#[test]
fn the_same_seed_leaves_the_same_rows_in_mariadb_as_in_the_twin() {
    running::<Maria>(&on_mariadb());
}

/// The numbers that the module promises, by kind and whether it was refused.
fn round_trips<S: Open>(database: &Database) {
    let plan = plan();
    database.load::<S>(&plan);
    let mut desk = block_on(Desk::new(Cut::never(database.open::<S>()))).unwrap();
    let mut stream = plan.stream(0);
    let mut seen: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for _ in 0..2 * REQUESTS {
        let input = stream.take().input;
        let before = desk.session_mut().trips;
        let ending = block_on(desk.run(&input)).unwrap();
        let taken = desk.session_mut().trips - before;
        let is_refused = ending == Ending::Committed(Outcome::Refused);
        let trips = seen.entry((input.kind().name(), is_refused)).or_default();
        if !trips.contains(&taken) {
            trips.push(taken);
        }
    }
    seen.values_mut().for_each(|trips| trips.sort_unstable());
    let expected: [(_, &[u64]); 10] = [
        (("cancel", false), &[5]),
        (("cancel", true), &[1]),
        (("create_temporary", false), &[1]),
        (("depth", false), &[1]),
        (("drop_temporary", false), &[1]),
        (("place_order", false), &[5]),
        (("place_order", true), &[1]),
        (("portfolio", false), &[1]),
        (("trade", false), &[11]),
        (("trade", true), &[3, 4, 6]),
    ];
    let expected = expected.into_iter().map(|(kind, trips)| (kind, trips.to_vec()));
    assert_eq!(seen, expected.collect());
}

#[test]
fn the_round_trips_to_postgres_are_as_few_as_promised() {
    round_trips::<Pg>(&on_postgres());
}

#[test]
fn the_round_trips_to_mariadb_are_as_few_as_promised() {
    round_trips::<Maria>(&on_mariadb());
}

#[test]
fn a_desk_without_rows_is_reported_with_what_is_missing_and_the_session_goes_on() {
    let database = on_postgres();
    let mut session: Pg = database.open();
    block_on(schema::create(&mut session)).unwrap();
    let mut desk = block_on(Desk::new(session)).unwrap();
    let mut stream = plan().stream(0);
    let inputs = std::iter::from_fn(|| Some(stream.take().input));
    let mut asked =
        inputs.filter(|input| matches!(input, Input::PlaceOrder(_) | Input::Portfolio { .. }));
    for _ in 0..8 {
        let error = block_on(desk.run(&asked.next().unwrap())).unwrap_err();
        assert!(matches!(error, DeskError::RowMissing { .. }), "{error}");
        assert!(error.to_string().contains("was the desk loaded"), "{error}");
    }
}
