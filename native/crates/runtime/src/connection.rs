//! A connection: bytes in, bytes out.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::Poll;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use crate::worker::Source;
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
    handle: Handle,
    socket: OwnedFd,
    source: usize,
    buffer: Vec<u8>,
    /// Bytes of the buffer that are consumed.
    start: usize,
    traffic: Traffic,
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
            connection.writable().await;
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
        let source = handle.0.add_source(&socket)?;
        let (handle, buffer, traffic) = (handle.clone(), Vec::new(), Traffic::default());
        Ok(Self { handle, socket, source, buffer, start: 0, traffic })
    }

    /// The worker that drives it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What was received and not consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Says that the first bytes of the input are done with.
    ///
    /// # Panics
    /// When there are fewer.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        assert!(bytes <= self.buffer.len() - self.start, "only what was received can be consumed");
        self.start += bytes;
        if self.start == self.buffer.len() {
            self.release();
        }
    }

    fn release(&mut self) {
        self.start = 0;
        if self.buffer.capacity() > 0 {
            self.handle.give_back(std::mem::take(&mut self.buffer));
        }
    }

    /// Waits until there are more bytes than before, and adds them to the input.
    ///
    /// # Errors
    /// `Closed` when the peer has closed, `Broken` when reading failed.
    pub async fn more(&mut self) -> Result<(), RuntimeError> {
        poll_fn(|_| self.poll_more()).await
    }

    fn poll_more(&mut self) -> Poll<Result<(), RuntimeError>> {
        if !self.is_ready(|source| source.is_readable) {
            return Poll::Pending;
        }
        self.make_room();
        let room = self.buffer.capacity() - self.buffer.len();
        let read = rustix::io::read(&self.socket, rustix::buffer::spare_capacity(&mut self.buffer));
        // Edge-triggered: a short read says that the socket is empty, and the next edge will come;
        // unless the last one has told of the end already, which is read then.
        match read {
            Ok(0) => Poll::Ready(Err(RuntimeError::Closed)),
            Ok(bytes) => {
                if bytes < room {
                    self.note(|source| source.is_readable = source.is_ended);
                }
                self.traffic.received += bytes as u64;
                Poll::Ready(Ok(()))
            }
            Err(Errno::AGAIN) => {
                self.note(|source| source.is_readable = false);
                if self.buffer.is_empty() {
                    self.release();
                }
                Poll::Pending
            }
            Err(Errno::INTR) => self.poll_more(),
            Err(errno) => Poll::Ready(Err(broken(errno))),
        }
    }

    /// Room for reading: a lent buffer, the space of what was consumed, or more.
    fn make_room(&mut self) {
        if self.buffer.capacity() == 0 {
            self.buffer = self.handle.lend();
        }
        if self.start > 0 && self.start * 2 >= self.buffer.len() {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.len() * 4 >= self.buffer.capacity() * 3 {
            self.buffer.reserve(self.buffer.capacity());
        }
    }

    /// Sends everything. Waits while the peer does not read.
    ///
    /// # Errors
    /// `Closed` or `Broken`.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let mut sent = 0;
        poll_fn(|_| self.poll_send(bytes, &mut sent)).await
    }

    fn poll_send(&mut self, bytes: &[u8], sent: &mut usize) -> Poll<Result<(), RuntimeError>> {
        while *sent < bytes.len() {
            // Tried without asking: a socket has room nearly always.
            match net::send(&self.socket, &bytes[*sent..], net::SendFlags::NOSIGNAL) {
                Ok(count) => {
                    *sent += count;
                    self.traffic.sent += count as u64;
                }
                Err(Errno::AGAIN) => {
                    self.note(|source| source.is_writable = false);
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Poll::Ready(Err(broken(errno))),
            }
        }
        Poll::Ready(Ok(()))
    }

    async fn writable(&self) {
        poll_fn(|_| {
            if self.is_ready(|source| source.is_writable) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// What is known of the socket; whoever asks is woken when that changes.
    #[inline]
    fn is_ready(&self, flag: impl FnOnce(&Source) -> bool) -> bool {
        let task = self.handle.0.current.get();
        let known = self.handle.0.with_source(self.source, |source| {
            source.task = task;
            flag(source)
        });
        known.unwrap_or(false)
    }

    #[inline]
    fn note(&self, change: impl FnOnce(&mut Source)) {
        let task = self.handle.0.current.get();
        self.handle.0.with_source(self.source, |source| {
            source.task = task;
            change(source);
        });
    }

    /// How much went through.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Ends both directions: whoever waits for this connection finds it closed.
    pub fn shut_down(&self) {
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
        self.release();
        // Closing the socket takes it out of epoll.
        self.handle.0.sources.borrow_mut().remove(self.source);
    }
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
