//! What can go wrong with an operation.

use assay_wire::WireError;

/// An operation failed.
#[derive(Debug, thiserror::Error)]
pub enum YcsbError {
    /// The session failed, or the server said so.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A record that must be there is not.
    #[error("there is no record {key}: load the table with the parameters of this run")]
    Missing {
        /// Its key.
        key: String,
    },
    /// A record came back that is not one of this workload.
    #[error("record {key} is wrong: {what}")]
    Wrong {
        /// Its key, or the key from which a scan started.
        key: String,
        /// What is wrong with it.
        what: String,
    },
    /// The target cannot do it.
    #[error(
        "a {operation} needs an order of keys, which servers of keys and values do not have: run mix \
         a, b, c, d or f, or another target"
    )]
    Unsupported {
        /// Which operation.
        operation: &'static str,
    },
}

impl YcsbError {
    /// Whether the operation may be tried again.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Wire(WireError::Server { kind, .. }) if kind.is_transient())
    }
}
