//! What can go wrong in the primitives.
//!
//! Two kinds only, because callers act on nothing finer: the host lacks something (the caller may
//! skip the arm), or an operating-system call failed that should have worked.

use thiserror::Error;

/// A primitive could not be provided.
#[derive(Debug, Error)]
pub enum PrimitiveError {
    /// This CPU, kernel or pool cannot do it; `next` says what would help.
    #[error("{what}")]
    Missing {
        /// What was asked for and why it is not there.
        what: String,
        /// What to do about it, with a command where there is one.
        next: String,
    },
    /// A call failed that works on every supported host.
    #[error("{call}: {source}")]
    Os {
        /// The call and what it was for.
        call: &'static str,
        /// The operating system's answer.
        source: std::io::Error,
    },
}

impl PrimitiveError {
    /// The last operating-system error, tagged with the call that met it.
    pub(crate) fn last_os(call: &'static str) -> Self {
        Self::Os { call, source: std::io::Error::last_os_error() }
    }
}
