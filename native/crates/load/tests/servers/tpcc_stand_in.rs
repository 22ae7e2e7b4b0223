//! Terminals on the stand-in: it answers as real servers do, but for the values.
//!
//! The real servers are private to this process; the sessions are ours.

use std::net::Ipv4Addr;

use assay_load::clients::Open;
use assay_load::tpcc::answers::TpccAnswers;
use assay_load::tpcc::schema::Options;
use assay_load::tpcc::statements::Flavour;
use assay_load::tpcc::{Ending, Terminal};
use assay_runtime::{Address, Listener};
use assay_stub::sql;
use assay_wire::sql::Session;
use assay_wire::{Target, WireError, mysql, postgres};
use assay_workload::tpcc::inputs::CustomerChoice;
use assay_workload::tpcc::procedures::Delivered;
use assay_workload::tpcc::{Input, Outcome, Parameters, Plan};

use crate::support::{block_on, handle, select, text};
use crate::tpcc::databases::{Database, load_all};
use crate::tpcc::shaped::{Shaped, Shapes};

const TRANSACTIONS: usize = 400;

/// A session with a stand-in of this thread's worker, as whoever.
fn stand_in<S: Open>(flavour: Flavour) -> S {
    let handle = handle();
    let listener = Listener::bind(&handle, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = Address::Tcp(listener.address().unwrap());
    let (answers, own) = (TpccAnswers::new(flavour), handle.clone());
    handle.spawn(async move {
        let ended = match flavour {
            Flavour::Postgres => sql::postgres::serve(own, listener, answers).await,
            _ => sql::mysql::serve(own, listener, answers).await,
        };
        panic!("{ended}");
    });
    let (user, database) = ("anybody".to_owned(), "anywhere".to_owned());
    let target = Target { address, user, password: None, database, tls: None };
    block_on(S::open(&handle, &target)).unwrap()
}

/// The specification's scale, of which the stand-in answers.
fn standard() -> Plan {
    Plan::new(Parameters::standard(2, 42)).unwrap()
}

/// Runs transactions of some terminals; the shapes of all answers.
fn shapes<S: Session>(session: S, plan: &Plan) -> Shapes {
    let mut terminal = block_on(Terminal::new(Shaped::new(session))).unwrap();
    for thread in 0..4 {
        let mut stream = plan.stream(thread);
        for _ in 0..TRANSACTIONS / 4 {
            block_on(terminal.run(&stream.take().input)).unwrap();
        }
    }
    terminal.into_session().shapes
}

fn shapes_are_those_of<S: Open>(real: Database<S>, flavour: Flavour, statements: usize) {
    let small = crate::tpcc::databases::plan(2);
    let mut session = (real.open)();
    load_all(&mut session, &small, Options::default());
    let expected = shapes(session, &small);
    let found = shapes(stand_in::<S>(flavour), &standard());
    let mut compared = 0;
    for (text, shape) in &expected {
        if let Some(other) = found.get(text) {
            assert_eq!(other, shape, "{text}");
            compared += 1;
        }
    }
    assert!(compared >= statements, "{compared} of {} statements", expected.len());
}

#[test]
fn answers_have_the_shapes_of_those_of_postgres() {
    shapes_are_those_of(crate::tpcc::databases::postgres(), Flavour::Postgres, 40);
}

#[test]
fn answers_have_the_shapes_of_those_of_mariadb() {
    shapes_are_those_of(crate::tpcc::databases::mariadb(), Flavour::MariaDb, 45);
}

/// Whether a transaction is to roll back, and whether it looks for a customer by name.
fn kind_of(input: &Input, unused: u32) -> (bool, bool) {
    let by_name = |choice| matches!(choice, CustomerChoice::LastName(_));
    match input {
        Input::NewOrder(input) => (input.lines().iter().any(|it| it.item == unused), false),
        Input::Payment(input) => (false, by_name(input.customer)),
        Input::OrderStatus(input) => (false, by_name(input.customer)),
        Input::Delivery(_) | Input::StockLevel(_) => (false, false),
    }
}

fn terminals_carry_out_everything<S: Open>(flavour: Flavour) {
    let plan = standard();
    let unused = plan.parameters().scale.unused_item();
    let mut terminal = block_on(Terminal::new(stand_in::<S>(flavour))).unwrap();
    let (mut rolled_back, mut by_name, mut delivered) = (0, 0, 0);
    let mut stream = plan.stream(3);
    for _ in 0..1000 {
        let input = stream.take().input;
        let (is_rolled_back, is_by_name) = kind_of(&input, unused);
        let ending = block_on(terminal.run(&input)).unwrap();
        assert_eq!(ending == Ending::RolledBack, is_rolled_back, "{input:?}");
        rolled_back += usize::from(is_rolled_back);
        by_name += usize::from(is_by_name);
        if let Ending::Committed(Outcome::Delivery(found)) = ending {
            assert_eq!(found, Delivered { orders: 10, skipped: 0 });
            delivered += 1;
        }
    }
    assert!(rolled_back > 0 && by_name > 0 && delivered > 0);
    let session = terminal.session_mut();
    let refused = block_on(session.prepare("SELECT secret FROM warehouse", &[])).unwrap_err();
    let WireError::Server { message, .. } = &refused else { panic!("{refused}") };
    assert!(message.contains("SELECT secret FROM warehouse"), "{message}");
    let version = select(session, "SELECT VERSION()", |row| text(row, 0));
    assert!(version[0].contains("stand-in"), "{version:?}");
}

#[test]
fn terminals_carry_out_all_five_transactions_on_the_postgres_stand_in() {
    terminals_carry_out_everything::<postgres::Session>(Flavour::Postgres);
}

#[test]
fn terminals_carry_out_all_five_transactions_on_the_mariadb_stand_in() {
    terminals_carry_out_everything::<mysql::Session>(Flavour::MariaDb);
}
