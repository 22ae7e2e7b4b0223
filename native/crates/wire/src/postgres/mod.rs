//! PostgreSQL: protocol 3.0, as servers since 7.4 speak it.
//!
//! [`codec`] decodes what servers send and [`messages`] encodes what clients send, both without
//! I/O. [`Session`] drives them: prepared statements with binary parameters and results, one write
//! and mostly one read per request; [`Session::pipeline`] for several requests at once;
//! [`Session::copy_in`] for loading. No TLS.
//!
//! Source: PostgreSQL documentation, part "Frontend/Backend Protocol", message formats and flow.

pub mod codec;
mod copy;
mod login;
pub mod messages;
mod pipeline;
pub mod placeholders;
mod reader;
pub mod report;
pub mod rows;
pub mod scram;
pub mod server;
mod session;
mod texts;

pub use codec::TransactionState;
pub use rows::Row;
pub use session::Session;

use crate::WireError;

/// An error of the protocol.
#[cold]
fn wrong(what: impl Into<String>) -> WireError {
    WireError::Protocol { protocol: "PostgreSQL", what: what.into() }
}
