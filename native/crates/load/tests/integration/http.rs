//! Connections to an HTTP server, turn by turn.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_load::Station;
use assay_load::clients::http::HttpClient;
use assay_primitives::Clock;
use assay_runtime::{Address, Worker};
use assay_wire::http::HttpTarget;

const CONNECTIONS: usize = 3;
static NEVER: AtomicBool = AtomicBool::new(false);

/// A server that counts the connections it is given; its threads end with them.
fn counting() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || answer(connection.unwrap()));
        }
    });
    (address, accepted)
}

/// Answers requests that come whole, as those of a client without a pipeline do.
fn answer(mut connection: TcpStream) {
    let mut request = [0; 4096];
    while connection.read(&mut request).is_ok_and(|bytes| bytes > 0) {
        if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").is_err() {
            return;
        }
    }
}

#[test]
fn every_turn_has_connections_of_its_own_and_asks_on_them_all_along() {
    let (address, accepted) = counting();
    let target = HttpTarget::new(Address::Tcp(address), "localhost".to_owned(), "/").unwrap();
    let station = Station::new(Worker::new(Clock::calibrated()).unwrap(), 10);
    (0..CONNECTIONS).for_each(|_| station.add(HttpClient::open(station.handle(), target.clone())));
    station.connect(&NEVER).unwrap();
    for turn in 1..=4 {
        station.start(None);
        let mut ended = 0;
        while ended < 20 * CONNECTIONS {
            station
                .run_some(10_000_000, &NEVER, |it| {
                    assert!(it.refused.is_none());
                    ended += 1;
                })
                .unwrap();
        }
        station.hold(&NEVER).unwrap();
        assert_eq!(accepted.load(Ordering::Relaxed), turn * CONNECTIONS, "after turn {turn}");
    }
    station.close();
    assert_eq!(station.alive(), 0);
}
