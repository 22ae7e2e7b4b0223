//! Stands between a session and its server and keeps what the server sends.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use assay_runtime::Address;

pub struct Recorder {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// Listens until the process ends; passes connections on to a server.
    pub fn start(server: &Address) -> Self {
        let Address::Tcp(server) = *server else { panic!("a TCP address") };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let kept = Arc::clone(&kept);
                spawn(move || pass(from, to, |_| ()));
                spawn(move || pass(server, client, |bytes| kept.lock().unwrap().extend(bytes)));
            }
        });
        Self { address, received }
    }

    pub fn address(&self) -> Address {
        Address::Tcp(self.address)
    }

    /// What the server has sent since the last call. A session that has read an answer to its end
    /// has it from here, so that it is all there.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..bytes]);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
