//! Many users at once, users that come again, and users that are cut off.

use std::sync::atomic::AtomicBool;

use assay_load::clients::Open;
use assay_load::clients::trade_desk::TradeDeskClient;
use assay_load::trade_desk::{Desk, DeskError, Ending, final_state};
use assay_load::{Station, Totals};
use assay_primitives::Clock;
use assay_runtime::Worker;
use assay_wire::ServerErrorKind;
use assay_workload::tables::Row;
use assay_workload::trade_desk::rows::{OpenOrder, Order, Trade};
use assay_workload::trade_desk::{Input, Outcome, Placement, run};

use super::cut::Cut;
use super::desks::{
    Database, Maria, Pg, USERS, assert_same, on_mariadb, on_postgres, plan, run_text, twin,
    violated,
};
use crate::support::block_on;

const REQUESTS: u64 = 1000;
const PATIENCE_S: u64 = 60;

/// All users of the plan at once, each over its own connection, until enough was answered.
fn crowd<S: Open>(database: &Database) -> Totals {
    let never = AtomicBool::new(false);
    let station = Station::new(Worker::new(Clock::calibrated()).unwrap(), PATIENCE_S);
    for number in 0..usize::from(USERS) {
        let (handle, target, plan) = (station.handle(), database.target.clone(), plan());
        station.add(async move { TradeDeskClient::<S>::open(handle, target, &plan, number).await });
    }
    station.connect(&never).unwrap();
    station.start(None);
    while station.totals().requests < REQUESTS {
        station
            .run(10_000_000, &never, |ended| assert!(ended.refused.is_none(), "{ended:?}"))
            .unwrap();
    }
    station.close();
    station.totals()
}

fn crowds<S: Open>(database: &Database) {
    database.load::<S>(&plan());
    let mut session: S = database.open();
    let mut trades = 0;
    for _ in 0..2 {
        // The second time the same users come again: none of their keys may be used twice.
        let totals = crowd::<S>(database);
        assert!(totals.refused > 0 && totals.refused < totals.requests, "{totals:?}");
        assert_eq!(violated(&mut session), [""; 0]);
        let now = block_on(final_state::read(&mut session)).unwrap().count(Trade::TABLE);
        assert!(now > trades, "{now} trades after {trades}");
        trades = now;
    }
}

#[test]
fn many_users_at_once_keep_all_invariants_in_postgres_and_so_they_do_when_they_come_again() {
    crowds::<Pg>(&on_postgres());
}

#[test]
fn many_users_at_once_keep_all_invariants_in_mariadb_and_so_they_do_when_they_come_again() {
    crowds::<Maria>(&on_mariadb());
}

/// Account 1 offers two of instrument 0, and account 2 can pay for them.
fn offer(sequence: u32) -> Input {
    let (account, instrument, own) = (1, 0, (0, sequence));
    let (is_sell, quantity, distance_e4) = (true, 2, 0);
    Input::PlaceOrder(Placement { account, instrument, is_sell, quantity, distance_e4, own })
}

fn trade(sequence: u32) -> Input {
    Input::Trade { account: 2, instrument: 0, own: (1, sequence) }
}

/// Runs an action with a client that ends before a request, unless it needs no more than `most`.
/// The server may not have noticed yet that the client before is gone, and hold its locks.
fn run_cut<S: Open>(database: &Database, input: &Input, most: u64) -> Result<Ending, DeskError> {
    loop {
        let mut desk =
            block_on(Desk::new(Cut { most, ..Cut::never(database.open::<S>()) })).unwrap();
        let ended = block_on(desk.run(input));
        if !matches!(ended, Ok(Ending::Conflict(_))) {
            return ended;
        }
    }
}

/// A client that ends before any of its requests leaves nothing of the action it was at.
fn cut_off<S: Open>(database: &Database) {
    let plan = plan();
    database.load::<S>(&plan);
    let (mut expected, mut session) = (twin(&plan), database.open::<S>());
    let mut sequence = 0;
    for (input, all) in
        [(offer as fn(u32) -> Input, 5), (trade, 11), (|_| Input::Cancel { account: 1 }, 5)]
    {
        for most in 0..=all {
            sequence += 2;
            let (first, input) = (offer(sequence), input(sequence + 1));
            run_cut::<S>(database, &first, u64::MAX).unwrap();
            expected.transact(|tables| run(tables, &first)).unwrap();
            let ended = run_cut::<S>(database, &input, most);
            if most == all {
                assert_eq!(ended.unwrap(), Ending::Committed(Outcome::Done), "{input:?}");
                expected.transact(|tables| run(tables, &input)).unwrap();
            } else {
                assert!(matches!(ended, Err(DeskError::Wire(_))), "{input:?} after {most}");
            }
            assert_same(&block_on(final_state::read(&mut session)).unwrap(), &expected);
            assert_eq!(violated(&mut session), [""; 0], "{input:?} after {most}");
        }
    }
}

#[test]
fn a_client_that_ends_midway_leaves_nothing_half_done_in_postgres() {
    cut_off::<Pg>(&on_postgres());
}

#[test]
fn a_client_that_ends_midway_leaves_nothing_half_done_in_mariadb() {
    cut_off::<Maria>(&on_mariadb());
}

/// Another session holds rows; the one that has to wait for them gives up at once.
fn lock_timeout<S: Open>(database: &Database, no_patience: &str) {
    database.load::<S>(&plan());
    let (mut holder, mut session): (S, S) = (database.open(), database.open());
    run_text(&mut session, no_patience);
    let mut desk = block_on(Desk::new(session)).unwrap();
    block_on(desk.run(&offer(1))).unwrap();
    for table in [
        "desk_open_order SET p_order = p_order + 1",
        "desk_cash SET c_balance = c_balance + 1 WHERE c_account = 2",
        "desk_quote SET q_last = q_last + 1",
    ] {
        run_text(&mut holder, "BEGIN");
        run_text(&mut holder, &format!("UPDATE {table}"));
        let ending = block_on(desk.run(&trade(2))).unwrap();
        assert_eq!(ending, Ending::Conflict(ServerErrorKind::LockTimeout), "{table}");
        run_text(&mut holder, "ROLLBACK");
        assert_eq!(violated(&mut holder), [""; 0], "nothing of the first attempt is left");
        let tables = block_on(final_state::read(&mut holder)).unwrap();
        assert_eq!((tables.count(OpenOrder::TABLE), tables.count(Trade::TABLE)), (1, 0));
    }
    assert_eq!(block_on(desk.run(&trade(2))).unwrap(), Ending::Committed(Outcome::Done));
    assert_eq!(violated(&mut holder), [""; 0]);
}

#[test]
fn a_lock_timeout_in_postgres_leaves_nothing_and_can_be_tried_again() {
    lock_timeout::<Pg>(&on_postgres(), "SET lock_timeout = '20ms'");
}

#[test]
fn a_lock_timeout_in_mariadb_leaves_nothing_and_can_be_tried_again() {
    lock_timeout::<Maria>(&on_mariadb(), "SET innodb_lock_wait_timeout = 0");
}

/// The open order goes between the look and the removal: nothing is cancelled, and it is a conflict.
fn lost_race<S: Open>(database: &Database) {
    database.load::<S>(&plan());
    let mut desk = block_on(Desk::new(database.open::<S>())).unwrap();
    block_on(desk.run(&offer(1))).unwrap();
    // As it looks to whoever has read the order before it was filled.
    let mut other: S = database.open();
    run_text(&mut other, "DELETE FROM desk_open_order");
    let ending = block_on(desk.run(&Input::Cancel { account: 1 })).unwrap();
    assert_eq!(ending, Ending::Conflict(ServerErrorKind::Conflict));
    let tables = block_on(final_state::read(&mut other)).unwrap();
    assert_eq!(tables.count(Order::TABLE), 1);
    assert_eq!(violated(&mut other), ["open"], "the order is as it was");
}

#[test]
fn a_cancellation_that_comes_too_late_changes_nothing() {
    lost_race::<Pg>(&on_postgres());
    lost_race::<Maria>(&on_mariadb());
}
