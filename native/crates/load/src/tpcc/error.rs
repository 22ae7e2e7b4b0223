//! What can go wrong beside what a transaction is allowed to meet.

use assay_wire::WireError;

/// A server does not hold, or does not do, what TPC-C needs.
#[derive(Debug, thiserror::Error)]
pub enum TpccError {
    /// The session failed, or the server refused a statement for good.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A row that every loaded database has is not there.
    #[error("table {table} has no row {key}: was the database loaded at this scale and seed?")]
    RowMissing {
        /// Where.
        table: &'static str,
        /// Which, in words.
        key: String,
    },
    /// A text that cannot be said in SQL.
    #[error("a text to be loaded is not UTF-8, or has a zero byte: {0:?}")]
    Text(String),
}
