//! What a terminal that waits costs: 10,000 of them have to fit 200 MB.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use assay_load::clients::Open;
use assay_load::clients::tpcc::TpccClient;
use assay_load::tpcc::answers::TpccAnswers;
use assay_load::tpcc::statements::Flavour;
use assay_load::{Client, Error, Station};
use assay_primitives::Clock;
use assay_runtime::{Address, Backend, Handle, Listener, Worker};
use assay_stub::sql;
use assay_wire::{Target, mysql, postgres};
use assay_workload::tpcc::{Parameters, Plan};

use crate::allocations::held_bytes;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Runs `test` beside a stand-in in a thread of its own, whose memory is not counted.
fn beside_stand_in(flavour: Flavour, test: impl FnOnce(Address)) {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let told = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let worker = worker();
        let handle = worker.handle();
        let listener = Listener::bind(&handle, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        sender.send(Address::Tcp(listener.address().unwrap())).unwrap();
        let answers = TpccAnswers::new(flavour);
        worker.spawn(async move {
            match flavour {
                Flavour::Postgres => sql::postgres::serve(handle, listener, answers).await,
                _ => sql::mysql::serve(handle, listener, answers).await,
            };
        });
        worker.run(u64::MAX, &told).unwrap();
    });
    test(receiver.recv().unwrap());
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

/// What a terminal is opened with.
struct Place {
    target: Target,
    plan: Plan,
}

impl Place {
    fn new(address: &Address) -> Self {
        let (user, database) = ("x".to_owned(), "y".to_owned());
        let target = Target { address: address.clone(), user, password: None, database, tls: None };
        Self { target, plan: Plan::new(Parameters::standard(10, 7)).unwrap() }
    }

    fn open<S: Open>(
        &self,
        handle: Handle,
        number: usize,
    ) -> impl Future<Output = Result<TpccClient<S>, Error>> + 'static {
        let (target, plan) = (self.target.clone(), self.plan.clone());
        async move { TpccClient::open(handle, target, &plan, number, 1.0).await }
    }
}

/// By epoll: how much memory a worker on io_uring keeps for use depends on how many answers happen
/// to come at once.
fn worker() -> Worker {
    Worker::with_backend(Clock::calibrated(), Backend::Epoll).unwrap()
}

/// Bytes that so many terminals hold which have logged in and wait: tasks and sessions.
fn held_waiting<S: Open>(place: &Place, terminals: usize) -> i64 {
    let before = held_bytes();
    let station = Station::new(worker(), 60);
    let opens = (0..terminals).map(|number| place.open::<S>(station.handle(), number));
    station.connect_all(opens, &NEVER).unwrap();
    held_bytes() - before
}

/// Bytes that so many terminals hold when each has carried out many transactions: sessions, and
/// all that they have prepared.
fn held_experienced<S: Open>(place: &Place, terminals: usize) -> i64 {
    let before = held_bytes();
    let worker = worker();
    let handle = worker.handle();
    let work = async {
        let mut clients = Vec::with_capacity(terminals);
        for number in 0..terminals {
            let mut client = Box::new(place.open::<S>(handle.clone(), number).await.unwrap());
            for _ in 0..100 {
                client.carry_out().await.unwrap();
            }
            clients.push(client);
        }
        held_bytes() - before
    };
    worker.block_on(work, &NEVER).unwrap().unwrap()
}

/// Differences of two numbers of terminals are those of terminals alone, without what a worker has
/// once.
fn a_waiting_terminal_is_small<S: Open>(flavour: Flavour) {
    beside_stand_in(flavour, |address| {
        let place = Place::new(&address);
        let each = |held: fn(&Place, usize) -> i64| (held(&place, 60) - held(&place, 20)) / 40;
        let (waiting, experienced) = (each(held_waiting::<S>), each(held_experienced::<S>));
        // With the running transaction in its task a terminal that waits would hold 6 KB.
        let is_small = (500..3_000).contains(&waiting) && (500..6_000).contains(&experienced);
        assert!(is_small, "{waiting} bytes waiting, {experienced} experienced");
    });
}

#[test]
fn a_waiting_terminal_of_postgres_costs_a_few_kilobytes() {
    a_waiting_terminal_is_small::<postgres::Session>(Flavour::Postgres);
}

#[test]
fn a_waiting_terminal_of_mariadb_costs_a_few_kilobytes() {
    a_waiting_terminal_is_small::<mysql::Session>(Flavour::MariaDb);
}
