//! The trade-desk over the reference tables: inputs, procedures, invariants.

use std::time::Duration;

use assay_workload::reference::ReferenceTables;
use assay_workload::tables::{Direction, Row, Tables};
use assay_workload::trade_desk::rows::{
    CANCELLED, Cash, Catalogue, Column, Leg, Object, OpenOrder, Order, Position, Quote, Trade, leg,
    position,
};
use assay_workload::trade_desk::{
    Input, Ledger, Outcome, Parameters, Placement, Plan, Request, TABLES, check, run,
};

const TRANSACTIONS: usize = 5000;
const USERS: u16 = 5;

fn parameters() -> Parameters {
    Parameters {
        users: USERS,
        accounts: 20,
        instruments: 8,
        theta: 0.99,
        catalogue_share: 0.3,
        report_share: 0.0,
        trade_think_time: Duration::from_millis(1000),
        request_think_time: Duration::from_millis(500),
        seed: 42,
    }
}

fn load(plan: &Plan) -> ReferenceTables {
    let mut tables = ReferenceTables::new(&TABLES);
    plan.load(|table, key, row| tables.load(table, key, row));
    tables
}

fn run_transactions(plan: &Plan, tables: &mut ReferenceTables) -> Vec<(Input, Outcome)> {
    let mut streams: Vec<_> = (0..USERS).map(|user| plan.stream(user)).collect();
    let turns = (0..TRANSACTIONS).map(|turn| {
        let input = streams[turn % usize::from(USERS)].take().input;
        (input, tables.transact(|tables| run(tables, &input)).unwrap())
    });
    turns.collect()
}

fn loaded_and_run() -> ReferenceTables {
    let plan = Plan::new(parameters()).unwrap();
    let mut tables = load(&plan);
    run_transactions(&plan, &mut tables);
    tables
}

fn violated(tables: &mut ReferenceTables) -> Vec<&'static str> {
    let violations = check(&Ledger::read(tables).unwrap(), &parameters());
    let mut names: Vec<_> = violations.iter().map(|violation| violation.invariant).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn draw(parameters: Parameters, user: u16, count: usize) -> Vec<Request> {
    let mut stream = Plan::new(parameters).unwrap().stream(user);
    (0..count).map(|_| stream.take()).collect()
}

#[test]
fn the_same_seed_gives_the_same_inputs_and_the_same_final_state() {
    assert_eq!(draw(parameters(), 0, 1000), draw(parameters(), 0, 1000));
    assert_ne!(draw(parameters(), 0, 1000), draw(parameters(), 1, 1000));
    assert!(loaded_and_run() == loaded_and_run());
}

#[test]
fn the_dial_wraps_its_share_of_the_actions() {
    for (catalogue_share, tolerance) in [(0.0, 0.0), (0.3, 0.02), (1.0, 0.0)] {
        let requests = draw(Parameters { catalogue_share, ..parameters() }, 0, 30_000);
        let creations = requests
            .iter()
            .filter(|request| matches!(request.input, Input::CreateTemporary { .. }))
            .count() as f64;
        // Each wrapped action is three transactions.
        let share = creations / (requests.len() as f64 - 2.0 * creations);
        assert!((share - catalogue_share).abs() <= tolerance, "{share}, {catalogue_share}");
    }
}

#[test]
fn a_wrapped_action_lies_between_its_creation_and_its_drop_and_waits_once() {
    let requests = draw(Parameters { catalogue_share: 1.0, ..parameters() }, 0, 300);
    for wrapped in requests.chunks(3) {
        let [
            Request { input: Input::CreateTemporary { object: created }, think_time: first },
            Request { input, think_time: second },
            Request { input: Input::DropTemporary { object: dropped }, think_time: last },
        ] = wrapped
        else {
            panic!("{wrapped:?}");
        };
        assert_eq!((created, *first + *second), (dropped, Duration::ZERO));
        let is_trade = matches!(input, Input::Trade { .. });
        assert_eq!(last.as_millis(), if is_trade { 1000 } else { 500 });
    }
}

#[test]
fn every_action_is_followed_by_a_report_at_share_one_and_none_at_zero() {
    let without = draw(Parameters { catalogue_share: 0.0, ..parameters() }, 0, 10_000);
    let always = Parameters { catalogue_share: 0.0, report_share: 1.0, ..parameters() };
    let with = draw(always, 0, 10_000);
    for pair in with.chunks(2) {
        assert_ne!(pair[0].input, Input::Report);
        assert_eq!(pair[1].input, Input::Report);
    }
    let kinds =
        |requests: &[Request]| requests.iter().map(|it| it.input.kind()).collect::<Vec<_>>();
    assert!(!kinds(&without).contains(&assay_workload::trade_desk::Kind::Report));
}

#[test]
fn every_action_succeeds_now_and_then_and_the_invariants_hold() {
    let plan = Plan::new(parameters()).unwrap();
    let mut tables = load(&plan);
    assert_eq!(violated(&mut tables), Vec::<&str>::new());
    let outcomes = run_transactions(&plan, &mut tables);
    assert_eq!(violated(&mut tables), Vec::<&str>::new());
    let done = |is_kind: fn(&Input) -> bool| {
        outcomes
            .iter()
            .filter(|(input, outcome)| is_kind(input) && *outcome == Outcome::Done)
            .count()
    };
    assert!(done(|input| matches!(input, Input::PlaceOrder(_))) > 300);
    assert!(done(|input| matches!(input, Input::Trade { .. })) > 300);
    assert!(done(|input| matches!(input, Input::Cancel { .. })) > 30);
    assert_eq!(tables.count(Trade::TABLE), done(|input| matches!(input, Input::Trade { .. })));
    let depth = outcomes.iter().filter(
        |(_, outcome)| matches!(outcome, Outcome::Depth { buy, sell } if *buy > 0 && *sell > 0),
    );
    assert!(depth.count() > 10);
    let worth = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Worth { cents } => Some(*cents),
        _ => None,
    });
    assert!(worth.unwrap() > 0);
}

type Change = fn(&mut ReferenceTables);

fn last<R: Row>(tables: &mut ReferenceTables) -> u64 {
    tables.first::<R>(0..=u64::MAX, Direction::Backward).unwrap().unwrap().0
}

fn remove_last<R: Row>(tables: &mut ReferenceTables) {
    let key = last::<R>(tables);
    tables.remove::<R>(key).unwrap();
}

/// The order of the last trade.
fn last_filled(tables: &mut ReferenceTables) -> u64 {
    let trade = tables.first::<Trade>(0..=u64::MAX, Direction::Backward).unwrap();
    trade.unwrap().1.order()
}

fn change<R: Row>(tables: &mut ReferenceTables, key: u64, change: impl FnOnce(&mut R)) {
    tables.update(key, change).unwrap();
}

/// What is broken, and which invariants must say so.
const SEEDED: [(&str, Change, &[&str]); 10] = [
    (
        "cash from nowhere",
        |tables| change(tables, 3, |row: &mut Cash| row.set_balance_cents(20_000_000_000)),
        &["conserved", "explained"],
    ),
    (
        "a short position",
        |tables| change(tables, position(1, 1), |row: &mut Position| row.set_quantity(-1)),
        &["conserved", "explained", "solvent"],
    ),
    ("a lost leg", remove_last::<Leg>, &["explained", "two legs"]),
    (
        "a leg of another price",
        |tables| {
            let key = leg(last::<Trade>(tables), 1);
            change(tables, key, |row: &mut Leg| row.set_cash_cents(1));
        },
        &["explained", "two legs"],
    ),
    (
        "a trade of an order that is not filled",
        |tables| {
            let key = last_filled(tables);
            change(tables, key, |row: &mut Order| row.set_state(CANCELLED));
        },
        &["no orphan fill"],
    ),
    (
        "an order filled by another trade",
        |tables| {
            let key = last_filled(tables);
            change(tables, key, |row: &mut Order| row.set_trade(row.trade() + 1));
        },
        &["no orphan fill"],
    ),
    (
        "a lost update of a volume",
        |tables| change(tables, 0, |row: &mut Quote| row.set_volume(row.volume() - 1)),
        &["volume"],
    ),
    ("an open order that nobody finds", remove_last::<OpenOrder>, &["open"]),
    (
        "a lost update of the catalogue",
        |tables| change(tables, 0, |row: &mut Catalogue| row.set_objects(row.objects() + 1)),
        &["catalogue"],
    ),
    (
        "an object without columns",
        |tables| {
            change(tables, 0, |row: &mut Catalogue| row.set_objects(row.objects() + 1));
            tables.add(u64::MAX >> 8, &Object::zeroed()).unwrap();
        },
        &["catalogue"],
    ),
];

#[test]
fn each_invariant_catches_a_seeded_violation() {
    let tables = loaded_and_run();
    for (what, change, expected) in SEEDED {
        let mut broken = tables.clone();
        change(&mut broken);
        assert_eq!(violated(&mut broken), expected, "{what}");
    }
}

#[test]
fn a_stream_that_skips_a_sequence_draws_the_same_and_uses_later_keys() {
    let plan = Plan::new(parameters()).unwrap();
    let (mut first, mut second) = (plan.stream(3), plan.stream(3));
    second.skip_past(77);
    for _ in 0..2000 {
        let (first, second) = (first.take().input, second.take().input);
        assert_eq!(first.kind(), second.kind());
        match (first, second) {
            (Input::PlaceOrder(first), Input::PlaceOrder(second)) => {
                let own = (first.own.0, first.own.1 + 77);
                assert_eq!(second, Placement { own, ..first });
            }
            (Input::Trade { own: first, .. }, Input::Trade { own: second, .. }) => {
                assert_eq!(second, (first.0, first.1 + 77));
            }
            _ => {}
        }
    }
}

#[test]
fn the_parts_of_the_load_are_the_load() {
    let plan = Plan::new(parameters()).unwrap();
    let mut whole = Vec::new();
    plan.load(|table, key, row| whole.push((table, key, row.to_vec())));
    let mut parts = Vec::new();
    for accounts in [7..20, 0..7] {
        plan.load_accounts(accounts, |table, key, row| parts.push((table, key, row.to_vec())));
    }
    plan.load_quotes(|table, key, row| parts.push((table, key, row.to_vec())));
    parts.push((Catalogue::TABLE, 0, Catalogue::zeroed().bytes().to_vec()));
    whole.sort();
    parts.sort();
    assert_eq!(whole, parts);
}

#[test]
fn a_position_in_an_instrument_that_is_not_traded_is_reported() {
    let mut tables = load(&Plan::new(parameters()).unwrap());
    tables.add(position(2, 8), &Position::zeroed()).unwrap();
    assert_eq!(violated(&mut tables), ["explained"]);
    change(&mut tables, position(2, 8), |row: &mut Position| row.set_quantity(100));
    assert_eq!(violated(&mut tables), ["conserved"]);
}

#[test]
fn a_temporary_table_leaves_nothing_but_a_version() {
    let plan = Plan::new(parameters()).unwrap();
    let mut tables = load(&plan);
    run(&mut tables, &Input::CreateTemporary { object: 7 }).unwrap();
    assert_eq!((tables.count(Object::TABLE), tables.count(Column::TABLE)), (1, 4));
    run(&mut tables, &Input::DropTemporary { object: 7 }).unwrap();
    assert_eq!((tables.count(Object::TABLE), tables.count(Column::TABLE)), (0, 0));
    let catalogue: Catalogue = tables.get(0).unwrap();
    assert_eq!((catalogue.version(), catalogue.objects()), (2, 0));
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    for (name, wrong) in [
        ("users", Parameters { users: 0, ..parameters() }),
        ("accounts", Parameters { accounts: 1, ..parameters() }),
        ("instruments", Parameters { instruments: 1, ..parameters() }),
        ("theta", Parameters { theta: 1.0, ..parameters() }),
        ("catalogue_share", Parameters { catalogue_share: 1.1, ..parameters() }),
        ("report_share", Parameters { report_share: -0.1, ..parameters() }),
    ] {
        let refused = Plan::new(wrong).unwrap_err().to_string();
        assert!(refused.contains(&format!("workload.{name} ")), "{refused}");
    }
}
