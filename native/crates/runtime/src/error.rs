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
