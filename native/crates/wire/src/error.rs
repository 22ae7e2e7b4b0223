//! What can go wrong between a session and its server.

use assay_runtime::RuntimeError;

/// A session failed, or a request of it.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection failed. The session is of no use any more.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The server answered with an error. The session goes on.
    #[error("the server says {code}: {message}")]
    Server {
        /// Its code: SQLSTATE of PostgreSQL, number of MySQL, first word of RESP and
        /// memcached, status of HTTP.
        code: String,
        /// Its words.
        message: String,
        /// What a workload may do about it.
        kind: ServerErrorKind,
    },
    /// The server sent what its protocol does not allow here. The session is of no use any more.
    #[error("the server does not speak {protocol} as expected: {what}")]
    Protocol {
        /// Which protocol.
        protocol: &'static str,
        /// What was met.
        what: String,
    },
    /// The server refused the user, or wants an authentication that is not built in.
    #[error("cannot log in as {user:?}: {why}")]
    Login {
        /// Who.
        user: String,
        /// The server's words, or what is missing.
        why: String,
    },
}

/// What an error of the server is to a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerErrorKind {
    /// A deadlock: the transaction was rolled back and may be tried again.
    Deadlock,
    /// A row was changed by somebody else: may be tried again.
    Conflict,
    /// A lock was not had in time: may be tried again.
    LockTimeout,
    /// A key exists already.
    DuplicateKey,
    /// Anything else.
    Other,
}

impl ServerErrorKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Conflict => "conflict",
            Self::LockTimeout => "lock timeout",
            Self::DuplicateKey => "duplicate key",
            Self::Other => "other",
        }
    }

    /// Whether the transaction may be tried again.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Deadlock | Self::Conflict | Self::LockTimeout)
    }
}
