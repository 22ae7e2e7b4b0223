//! Wire protocols, each in two layers.
//!
//! A **codec** has no I/O: it turns messages into bytes and bytes into messages. Whole, or split at
//! every byte, the same bytes give the same messages; any bytes at all give messages or an error,
//! never a panic. A **session** drives a codec over an `assay_runtime::Connection`: it connects,
//! authenticates, and runs requests one by one or pipelined. A request costs no allocation once
//! its session is warm: output and rows lie in memory that the session keeps.
//!
//! SQL protocols share the interface [`sql::Session`], so that a workload is written once.

pub mod answers;
pub mod error;
pub mod http;
pub mod memcached;
pub mod mysql;
mod pool;
pub mod postgres;
pub mod resp;
pub mod sql;
pub mod target;

pub use error::{ServerErrorKind, WireError};
pub use target::{Target, Tls};
