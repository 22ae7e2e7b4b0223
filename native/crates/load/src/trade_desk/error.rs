//! What can go wrong beside what a transaction is allowed to meet.

use assay_wire::WireError;

/// A server does not hold, or does not do, what the trade-desk needs.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The session failed, or the server refused a statement for good.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A row that every loaded desk has is not there.
    #[error(
        "table {table} has no row {key}: was the desk loaded with these accounts and instruments?"
    )]
    RowMissing {
        /// Where.
        table: &'static str,
        /// Which, in words.
        key: String,
    },
}
