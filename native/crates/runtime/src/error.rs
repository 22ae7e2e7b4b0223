//! What can go wrong below a protocol.

use std::io;

use crate::Address;

/// The loop or a connection failed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Nobody answered at an address, or who did refused.
    #[error("cannot connect to {address}: {source}; is a server running there?")]
    Connect {
        /// Where.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// The peer closed the connection.
    #[error("the peer closed the connection")]
    Closed,
    /// Reading or writing failed.
    #[error("the connection failed: {0}")]
    Broken(io::Error),
    /// A name that is no address.
    #[error("no address is known for host {host:?}: {source}")]
    Host {
        /// As given.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// The server's certificate does not prove what it has to.
    #[error("the certificate of {host} is not trusted: {why}; next: {next}")]
    Untrusted {
        /// The server's name, as given.
        host: String,
        /// Why.
        why: String,
        /// What helps.
        next: &'static str,
    },
    /// TLS could not be begun, or came to an end that it should not.
    #[error("TLS with {host} failed: {why}")]
    Tls {
        /// The server's name, as given.
        host: String,
        /// Why.
        why: String,
    },
    /// There is nobody whose certificates could be trusted.
    #[error("no certificates of authorities in {place}: {why}; next: give sslrootcert=FILE in PEM")]
    Authorities {
        /// The file.
        place: String,
        /// Why.
        why: String,
    },
    /// The kernel refused something that the loop needs.
    #[error("{call} failed: {source}")]
    Os {
        /// Which call.
        call: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl RuntimeError {
    pub(crate) fn os(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::Os { call, source: errno.into() }
    }
}
