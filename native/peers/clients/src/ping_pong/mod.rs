//! The floor of a client: the same bytes over as many connections, and nothing else.
//!
//! No parsing, no latencies, no errors that a run could survive, and no reading of the clock: a
//! timer ends it. What is left is what the kernel wants for sending, waking and receiving.

pub mod epoll;
mod ring_buffers;
pub mod uring;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// What an answer is read into.
const BUFFER_BYTES: usize = 16 * 1024;
/// Nothing more of the first answer comes after such a silence.
const SILENCE: Duration = Duration::from_millis(100);

/// Connections to a server, what to ask it, and how long its answers are.
#[derive(Debug)]
pub struct Peers {
    sockets: Vec<TcpStream>,
    request: Vec<u8>,
    answer_bytes: usize,
}

impl Peers {
    /// Connects, and learns the length of the answer by asking once.
    ///
    /// # Errors
    /// A server that does not let in or does not answer.
    pub fn open(server: SocketAddr, connections: usize, request: Vec<u8>) -> Result<Self> {
        ensure!(connections > 0 && !request.is_empty(), "give connections, and a request on stdin");
        let connect = |_| {
            let socket = TcpStream::connect(server).with_context(|| server.to_string())?;
            socket.set_nodelay(true)?;
            Ok(socket)
        };
        let sockets: Vec<TcpStream> = (0..connections).map(connect).collect::<Result<_>>()?;
        let answer_bytes = answer_bytes(&sockets[0], &request)?;
        for socket in &sockets {
            socket.set_nonblocking(true)?;
        }
        Ok(Self { sockets, request, answer_bytes })
    }

    /// Whether bytes of an answer make it whole; `left` is what was missing before them.
    fn is_whole(&self, left: &mut usize, received: usize) -> Result<bool> {
        let Some(rest) = left.checked_sub(received) else {
            bail!("the answers differ in length: one is longer than {} bytes", self.answer_bytes);
        };
        *left = if rest == 0 { self.answer_bytes } else { rest };
        Ok(rest == 0)
    }
}

fn answer_bytes(mut socket: &TcpStream, request: &[u8]) -> Result<usize> {
    socket.write_all(request)?;
    let (mut buffer, mut bytes) = ([0; BUFFER_BYTES], 0);
    socket.set_read_timeout(Some(SILENCE))?;
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => bail!("the server closed the connection after {bytes} bytes"),
            Ok(more) => bytes += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock && bytes > 0 => return Ok(bytes),
            Err(error) => return Err(error).context("waiting for the first answer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A server whose answers have these lengths in turn; its address.
    fn server(lengths: &'static [usize]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = |mut socket: TcpStream| {
            let mut asked = [0; 4];
            for length in lengths.iter().cycle() {
                if socket.read_exact(&mut asked).is_err() {
                    return;
                }
                let _ = socket.write_all(&vec![b'x'; *length]);
            }
        };
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                std::thread::spawn(move || answer(socket.unwrap()));
            }
        });
        address
    }

    fn both(lengths: &'static [usize]) -> Vec<Result<u64>> {
        let time = Duration::from_millis(300);
        let peers = || Peers::open(server(lengths), 3, b"ping".to_vec()).unwrap();
        vec![epoll::run(&peers(), time), uring::run(&peers(), time)]
    }

    #[test]
    fn short_and_long_answers_are_counted_until_the_time_is_over() {
        for lengths in [&[5], &[100_000]] {
            for operations in both(lengths) {
                assert!(operations.unwrap() > 3, "{lengths:?}");
            }
        }
    }

    #[test]
    fn a_longer_answer_is_an_error_and_a_shorter_one_is_no_operation() {
        for outcome in both(&[5, 9]) {
            assert!(outcome.unwrap_err().to_string().contains("differ in length"));
        }
        for outcome in both(&[5, 5, 3]) {
            assert!(outcome.unwrap() <= 6);
        }
    }
}
