//! RESP, the protocol of Redis and its kin, versions 2 and 3.
//!
//! Sources: the Redis serialization protocol specification (redis.io, "RESP") and the command
//! pages of HELLO, AUTH and SELECT. Streamed strings and aggregates (`$?`, `*?`), which no server
//! sends unasked, are refused.

pub mod codec;
mod session;

pub use session::Session;

use crate::{ServerErrorKind, WireError};

/// What the server sent and should not have.
fn unexpected(what: impl Into<String>) -> WireError {
    WireError::Protocol { protocol: "RESP", what: what.into() }
}

/// An error reply as an error: its first word is the code.
pub fn server_error(text: &[u8]) -> WireError {
    let text = String::from_utf8_lossy(text);
    let (code, message) = text.split_once(' ').unwrap_or((&text, ""));
    let (code, message) = (code.to_owned(), message.to_owned());
    WireError::Server { code, message, kind: ServerErrorKind::Other }
}
