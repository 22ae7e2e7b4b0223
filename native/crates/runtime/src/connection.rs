//! A connection: bytes in, bytes out.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Poll, ready};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::input::Input;
use crate::socket::Socket;
use crate::tls::Tls;
use crate::{Address, Handle, RuntimeError};

/// How much went through a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A stream socket of one worker.
///
/// What was received and not consumed is `input`. While it is empty the connection owns no buffer.
pub struct Connection {
    socket: Socket,
    pub(crate) input: Input,
    traffic: Traffic,
    pub(crate) tls: Option<Box<Tls>>,
}

impl Connection {
    /// Connects. Without an answer this waits as long as the kernel tries, about two minutes: put
    /// it under a [`crate::deadline`].
    ///
    /// # Errors
    /// `Connect` when nobody listens there.
    pub async fn open(handle: &Handle, address: &Address) -> Result<Self, RuntimeError> {
        let refused =
            |errno: Errno| RuntimeError::Connect { address: address.clone(), source: errno.into() };
        let socket = socket_for(address).map_err(refused)?;
        let connecting = match address {
            Address::Tcp(address) => net::connect(&socket, address),
            Address::Unix(path) => net::SocketAddrUnix::new(path.as_path())
                .and_then(|address| net::connect(&socket, &address)),
        };
        let is_waiting = connecting == Err(Errno::INPROGRESS);
        if let Err(errno) = connecting
            && !is_waiting
        {
            return Err(refused(errno));
        }
        let connection = Self::of(handle, socket)?;
        if is_waiting {
            poll_fn(|_| connection.socket.poll_connected()).await;
            match net::sockopt::socket_error(&connection.socket).and_then(|error| error) {
                Ok(()) => {}
                Err(errno) => return Err(refused(errno)),
            }
        }
        if let Address::Tcp(_) = address {
            net::sockopt::set_tcp_nodelay(&connection.socket, true)
                .map_err(RuntimeError::os("TCP_NODELAY"))?;
        }
        Ok(connection)
    }

    /// Takes over a connected socket that does not block.
    pub(crate) fn of(handle: &Handle, socket: OwnedFd) -> Result<Self, RuntimeError> {
        let socket = Socket::new(handle, socket)?;
        Ok(Self { socket, input: Input::default(), traffic: Traffic::default(), tls: None })
    }

    /// The worker that drives it.
    pub fn handle(&self) -> &Handle {
        self.socket.handle()
    }

    /// What was received and not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        self.input.bytes()
    }

    /// Says that the first bytes of the input are done with.
    ///
    /// # Panics
    /// When there are fewer.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes, &self.socket.handle().0.buffers);
    }

    /// Waits until there are more bytes than before, and adds them to the input.
    ///
    /// # Errors
    /// `Closed` when the peer has closed, `Broken` when reading failed; `Tls` where that is spoken.
    pub async fn more(&mut self) -> Result<(), RuntimeError> {
        poll_fn(|_| if self.tls.is_some() { self.poll_more_tls() } else { self.poll_more_plain() })
            .await
    }

    pub(crate) fn poll_more_plain(&mut self) -> Poll<Result<(), RuntimeError>> {
        receive(&self.socket, &mut self.traffic, &mut self.input)
    }

    /// Adds what comes to another input than its own.
    pub(crate) fn poll_into(&mut self, input: &mut Input) -> Poll<Result<(), RuntimeError>> {
        receive(&self.socket, &mut self.traffic, input)
    }

    /// Sends everything. Waits while the peer does not read.
    ///
    /// # Errors
    /// `Closed` or `Broken`; `Tls` where that is spoken.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let mut sent = 0;
        poll_fn(|_| {
            if self.tls.is_some() {
                self.poll_send_tls(bytes, &mut sent)
            } else {
                self.poll_send_plain(bytes, &mut sent)
            }
        })
        .await
    }

    pub(crate) fn poll_send_plain(
        &mut self,
        bytes: &[u8],
        sent: &mut usize,
    ) -> Poll<Result<(), RuntimeError>> {
        while *sent < bytes.len() {
            match ready!(self.socket.poll_send(&bytes[*sent..])) {
                Ok(count) => {
                    *sent += count;
                    self.traffic.sent += count as u64;
                }
                Err(errno) => return Poll::Ready(Err(broken(errno))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// How much went through the socket, with what TLS adds.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Ends both directions: whoever waits for this connection finds it closed.
    pub fn shut_down(&self) {
        // What was sent before goes before.
        self.handle().0.poller.flush();
        // One that is not connected any more needs no ending.
        let _ = net::shutdown(&self.socket, net::Shutdown::Both);
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.say_goodbye();
        self.input.release(&self.socket.handle().0.buffers);
    }
}

fn receive(
    socket: &Socket,
    traffic: &mut Traffic,
    input: &mut Input,
) -> Poll<Result<(), RuntimeError>> {
    socket.poll_read(input).map(|read| match read {
        Ok(0) => Err(RuntimeError::Closed),
        Ok(bytes) => {
            traffic.received += bytes as u64;
            Ok(())
        }
        Err(errno) => Err(broken(errno)),
    })
}

fn socket_for(address: &Address) -> Result<OwnedFd, Errno> {
    let family = match address {
        Address::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
        Address::Tcp(_) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    net::socket_with(family, SocketType::STREAM, flags, None)
}

fn broken(errno: Errno) -> RuntimeError {
    match errno {
        Errno::PIPE | Errno::CONNRESET => RuntimeError::Closed,
        errno => RuntimeError::Broken(io::Error::from(errno)),
    }
}
