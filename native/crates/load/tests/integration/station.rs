//! Connections, arrivals and what is handed out, against servers made here.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use assay_load::arrivals::Spacing;
use assay_load::{Arrivals, Carried, Client, Ended, Error, Rate, Station};
use assay_primitives::Clock;
use assay_runtime::{Address, Connection, Handle, Listener, Worker, sleep_until};
use assay_wire::WireError;

static NEVER: AtomicBool = AtomicBool::new(false);

/// What a server does with a byte.
#[derive(Clone, Copy)]
enum Manners {
    /// Sends it back.
    Echo,
    /// Sends it back after this many milliseconds, one at a time on each connection.
    Slow(u64),
    /// Says nothing.
    Silent,
    /// Closes after so many.
    Leaves(usize),
}

struct Server {
    address: Address,
    stop: std::sync::Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(manners: Manners) -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        let told = std::sync::Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let worker = Worker::new(Clock::calibrated()).unwrap();
            let handle = worker.handle();
            let listener = Listener::bind(&handle, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            sender.send(listener.address().unwrap()).unwrap();
            worker.spawn(async move {
                loop {
                    let connection = listener.accept().await.unwrap();
                    handle.spawn(serve(connection, manners));
                }
            });
            worker.run(u64::MAX, &told).unwrap();
        });
        Self { address: Address::Tcp(receiver.recv().unwrap()), stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn serve(mut connection: Connection, manners: Manners) {
    let mut served = 0;
    while connection.more().await.is_ok() {
        let bytes = connection.input().len();
        connection.consume(bytes);
        for _ in 0..bytes {
            let handle = connection.handle().clone();
            match manners {
                Manners::Echo => {}
                Manners::Slow(ms) => sleep_until(&handle, after_ms(&handle, ms)).await,
                Manners::Silent => continue,
                Manners::Leaves(after) if served >= after => return,
                Manners::Leaves(_) => {}
            }
            served += 1;
            if connection.send(b"x").await.is_err() {
                return;
            }
        }
    }
}

fn after_ms(handle: &Handle, ms: u64) -> u64 {
    handle.clock().ticks() + handle.clock().ticks_of_ns(ms * 1_000_000)
}

/// Sends a byte and waits for one.
struct Ping {
    connection: Connection,
    wait_ns: u64,
    /// Its kind of request, which tells connections apart.
    number: usize,
}

impl Ping {
    async fn open(
        handle: Handle,
        address: Address,
        wait_ns: u64,
        number: usize,
    ) -> Result<Self, Error> {
        let connection = Connection::open(&handle, &address).await.map_err(WireError::from)?;
        Ok(Self { connection, wait_ns, number })
    }
}

impl Client for Ping {
    fn wait_ns(&mut self) -> u64 {
        self.wait_ns
    }

    async fn carry_out(&mut self) -> Result<Carried, Error> {
        self.connection.send(b"x").await.map_err(WireError::from)?;
        self.connection.more().await.map_err(WireError::from)?;
        assert_eq!(self.connection.input(), b"x");
        self.connection.consume(1);
        Ok(Carried::one(self.number))
    }
}

fn station(server: &Server, connections: usize, wait_ms: u64, patience_s: u64) -> Station {
    let station = Station::new(Worker::new(Clock::calibrated()).unwrap(), patience_s);
    for number in 0..connections {
        let (handle, address) = (station.handle(), server.address.clone());
        station.add(Ping::open(handle, address, wait_ms * 1_000_000, number));
    }
    station
}

/// Sends a byte and waits for one, and takes ten milliseconds to make the next request.
struct Slow(Ping);

impl Client for Slow {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        self.0.carry_out().await
    }

    fn prepare(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn run(station: &Station, ms: u64) -> Result<Vec<Ended>, Error> {
    let mut all = Vec::new();
    station.run(ms * 1_000_000, &NEVER, |ended| all.push(*ended)).map(|()| all)
}

/// Works until so many requests have ended.
fn run_until(station: &Station, enough: usize) -> Vec<Ended> {
    let mut all = Vec::new();
    while all.len() < enough {
        all.extend(run(station, 10).unwrap());
    }
    all
}

/// The requests of each connection, in their order.
fn by_connection(ended: &[Ended], connections: usize) -> Vec<Vec<Ended>> {
    let of = |number| ended.iter().filter(|it| it.kind == number).copied().collect();
    (0..connections).map(of).collect()
}

#[test]
fn in_a_closed_loop_every_connection_asks_again_when_it_was_answered() {
    let server = Server::start(Manners::Slow(5));
    let station = station(&server, 4, 0, 10);
    station.connect(&NEVER).unwrap();
    station.start(None);
    let ended = run_until(&station, 40);
    let clock = Clock::calibrated();
    for requests in by_connection(&ended, 4) {
        assert!(requests.len() >= 2, "every connection asks again");
        // Not before it was answered, which takes the server 5 ms.
        assert!(requests.windows(2).all(|pair| pair[0].end <= pair[1].intended));
        let service = requests.iter().map(|it| clock.ns_between(it.sent, it.end));
        assert!(service.min() >= Some(4_990_000));
    }
    assert!(ended.iter().all(|it| it.intended <= it.sent && it.sent < it.end));
    assert!(ended.windows(2).all(|pair| pair[0].end <= pair[1].end));
    assert_eq!(station.totals().requests, ended.len() as u64);
    station.close();
    assert_eq!(station.alive(), 0);
}

#[test]
fn users_who_think_ask_that_much_later() {
    let server = Server::start(Manners::Echo);
    let station = station(&server, 3, 20, 10);
    station.connect(&NEVER).unwrap();
    station.start(None);
    let ended = run_until(&station, 3 * 6);
    let clock = Clock::calibrated();
    let mut thought = Vec::new();
    for requests in by_connection(&ended, 3) {
        assert!(requests.iter().all(|it| it.intended <= it.sent));
        let pairs = requests.windows(2);
        thought.extend(pairs.map(|pair| clock.ns_between(pair[0].end, pair[1].intended)));
    }
    // A stall may come between an answer and the start of thinking, but not every time.
    let shortest = thought.into_iter().min().unwrap();
    assert!((19_990_000..30_000_000).contains(&shortest), "{shortest}");
}

#[test]
fn in_an_open_loop_a_slow_server_is_asked_no_less_often_and_the_waiting_shows() {
    // 20 ms an answer on one connection, asked every 5 ms: it falls behind by 15 ms each time.
    let server = Server::start(Manners::Slow(20));
    let station = station(&server, 1, 0, 10);
    station.connect(&NEVER).unwrap();
    let clock = Clock::calibrated();
    let rate = Rate { per_s: 200.0, spacing: Spacing::Even };
    station.start(Some(Arrivals::new(rate, 0, 1, clock.ticks(), clock, 1)));
    let ended = run_until(&station, 8);
    for (place, it) in ended.iter().enumerate() {
        let since_first = clock.ns_between(ended[0].intended, it.intended) as f64 / 1e6;
        assert!((since_first - 5.0 * place as f64).abs() < 0.01, "{place}: {since_first}");
        let (latency, service) =
            (clock.ns_between(it.intended, it.end), clock.ns_between(it.sent, it.end));
        assert!(latency >= place as u64 * 15_000_000 && service <= latency);
    }
}

#[test]
fn a_port_without_a_server_is_told_when_connecting() {
    // Nobody listens on port 1; a port that was just free may be somebody else's by now.
    let address = Address::Tcp((Ipv4Addr::LOCALHOST, 1).into());
    let station = Station::new(Worker::new(Clock::calibrated()).unwrap(), 10);
    station.add(Ping::open(station.handle(), address.clone(), 0, 0));
    let refused = station.connect(&NEVER).unwrap_err().to_string();
    assert!(refused.contains(&address.to_string()), "{refused}");
}

#[test]
fn a_server_that_leaves_ends_the_run_with_what_was_answered_before() {
    let server = Server::start(Manners::Leaves(10));
    let station = station(&server, 1, 0, 10);
    station.connect(&NEVER).unwrap();
    station.start(None);
    let mut ended = 0;
    let left = loop {
        if let Err(error) = station.run(10_000_000, &NEVER, |_| ended += 1) {
            break error.to_string();
        }
    };
    assert!(left.contains("closed"), "{left}");
    assert_eq!(ended, 10);
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_some_patience() {
    let server = Server::start(Manners::Silent);
    let station = station(&server, 2, 0, 3);
    station.connect(&NEVER).unwrap();
    station.start(None);
    let silence = (0..2000).find_map(|_| run(&station, 10).err());
    assert!(matches!(silence, Some(Error::Silence { seconds: 3 })));
}

#[test]
fn many_connections_log_in_a_few_at_a_time() {
    use std::cell::Cell;
    use std::rc::Rc;

    let server = Server::start(Manners::Echo);
    let clock = Clock::calibrated();
    let station = Station::new(Worker::new(clock).unwrap(), 10);
    let (now, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let opens = (0..350).map(|_| {
        let (handle, address) = (station.handle(), server.address.clone());
        let (now, most) = (Rc::clone(&now), Rc::clone(&most));
        async move {
            now.set(now.get() + 1);
            most.set(most.get().max(now.get()));
            sleep_until(&handle, after_ms(&handle, 5)).await;
            let opened = Ping::open(handle, address, 0, 0).await;
            now.set(now.get() - 1);
            opened
        }
    });
    station.connect_all(opens, &NEVER).unwrap();
    assert_eq!(station.alive(), 350);
    assert!((2..=100).contains(&most.get()), "{} at the same time", most.get());
}

#[test]
fn what_a_client_does_for_its_next_request_is_in_the_time_of_none() {
    let server = Server::start(Manners::Echo);
    let station = station(&server, 0, 0, 10);
    let (handle, address) = (station.handle(), server.address.clone());
    station.add(async move { Ok(Slow(Ping::open(handle, address, 0, 0).await?)) });
    station.connect(&NEVER).unwrap();
    station.start(None);
    let (ended, clock) = (run_until(&station, 20), Clock::calibrated());
    let mut took: Vec<u64> =
        ended.iter().map(|end| clock.ns_between(end.intended.min(end.sent), end.end)).collect();
    took.sort_unstable();
    assert!(took[took.len() / 2] < 10_000_000, "{took:?}");
}

#[test]
fn what_ended_is_given_away_a_little_at_a_time() {
    let server = Server::start(Manners::Echo);
    let station = station(&server, 4, 0, 10);
    station.connect(&NEVER).unwrap();
    station.start(None);
    for _ in 0..20 {
        let mut count = 0;
        station.run_some(10_000_000_000, &NEVER, |_| count += 1).unwrap();
        assert!((1..=100).contains(&count), "{count}");
    }
}
