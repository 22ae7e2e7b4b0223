//! Where a server is.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use crate::RuntimeError;

/// A TCP port or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of a host.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Address {
    /// A port of a named or numbered host; the first address that the name has.
    ///
    /// # Errors
    /// `Host` when the name is not known. Asks the system's resolver and waits for it.
    pub fn tcp(host: &str, port: u16) -> Result<Self, RuntimeError> {
        let unknown = |source| RuntimeError::Host { host: host.to_owned(), source };
        let found = (host, port).to_socket_addrs().map_err(unknown)?.next();
        let none = || unknown(std::io::ErrorKind::NotFound.into());
        found.map(Self::Tcp).ok_or_else(none)
    }

    /// A Unix socket.
    pub fn unix(path: impl AsRef<Path>) -> Self {
        Self::Unix(path.as_ref().to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}
