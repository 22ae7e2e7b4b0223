//! Accepting connections, for servers of our own.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Poll, ready};

use rustix::io::Errno;
use rustix::net::{self, SocketFlags};

use crate::socket::Socket;
use crate::{Connection, Handle, RuntimeError};

/// A TCP port that is listened on.
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens on an address; port 0 takes a free one. Workers may listen on the same port, and
    /// the kernel shares connections out among them.
    ///
    /// # Errors
    /// `Os` when the address cannot be had.
    pub fn bind(handle: &Handle, address: SocketAddr) -> Result<Self, RuntimeError> {
        let family = match address {
            SocketAddr::V4(_) => net::AddressFamily::INET,
            SocketAddr::V6(_) => net::AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, net::SocketType::STREAM, flags, None)
            .map_err(RuntimeError::os("socket"))?;
        net::sockopt::set_socket_reuseaddr(&socket, true)
            .and_then(|()| net::sockopt::set_socket_reuseport(&socket, true))
            .map_err(RuntimeError::os("SO_REUSEPORT"))?;
        net::bind(&socket, &address).map_err(RuntimeError::os("bind"))?;
        net::listen(&socket, 4096).map_err(RuntimeError::os("listen"))?;
        Ok(Self { socket: Socket::new(handle, socket)? })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// `Os` when the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr, RuntimeError> {
        let name = net::getsockname(&self.socket).map_err(RuntimeError::os("getsockname"))?;
        SocketAddr::try_from(name).map_err(RuntimeError::os("getsockname"))
    }

    /// Waits for somebody to connect.
    ///
    /// # Errors
    /// `Os`, when no more connections can be had.
    pub async fn accept(&self) -> Result<Connection, RuntimeError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = poll_fn(|_| {
            loop {
                match net::accept_with(&self.socket, flags) {
                    Ok(socket) => return Poll::Ready(Ok(socket)),
                    Err(Errno::AGAIN) => ready!(self.socket.poll_acceptable()),
                    Err(Errno::INTR | Errno::CONNABORTED) => {}
                    Err(errno) => return Poll::Ready(Err(RuntimeError::os("accept")(errno))),
                }
            }
        })
        .await?;
        net::sockopt::set_tcp_nodelay(&socket, true).map_err(RuntimeError::os("TCP_NODELAY"))?;
        Connection::of(self.socket.handle(), socket)
    }
}
