//! Servers that a test starts.
#![allow(dead_code)] // Not every test uses everything.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

/// A port of the loopback that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until somebody listens; false when the process ends before.
pub fn is_up(address: SocketAddr, process: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if process.try_wait().unwrap().is_some() {
            return false;
        }
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = process.kill();
    panic!("nobody listens at {address} after 20 s");
}
