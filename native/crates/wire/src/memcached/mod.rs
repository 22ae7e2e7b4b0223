//! The text protocol of memcached.
//!
//! Source: `doc/protocol.txt` of memcached 1.6. Commands are lines, some with a data block behind
//! them, and replies say themselves where they end, so that no reader needs to know what was asked:
//!
//! | reply | ends with |
//! |---|---|
//! | `VALUE key flags bytes [unique]`, data block; any number of them | `END` |
//! | `STAT name value`; any number of them | `END` |
//! | `STORED`, `DELETED`, `TOUCHED`, `OK`, `RESET`, `VERSION text`, a number | its line |
//! | `NOT_STORED`, `EXISTS`, `NOT_FOUND` | its line |
//! | `ERROR`, `CLIENT_ERROR text`, `SERVER_ERROR text`, also within the first two | its line |
//!
//! Refused as replies: those of the meta commands (`mg` and its like), of `watch` and of the
//! crawlers. Nothing is sent with `noreply`, after which errors cannot be told from answers.

pub mod codec;
mod session;

pub use session::Session;

use crate::{ServerErrorKind, WireError};

/// What the server sent and should not have.
fn unexpected(what: impl Into<String>) -> WireError {
    WireError::Protocol { protocol: "memcached", what: what.into() }
}

/// An error reply as an error: its first word is the code.
pub fn server_error(text: &[u8]) -> WireError {
    let text = String::from_utf8_lossy(text);
    let (code, message) = text.split_once(' ').unwrap_or((&text, ""));
    let (code, message) = (code.trim_end_matches(':').to_owned(), message.to_owned());
    WireError::Server { code, message, kind: ServerErrorKind::Other }
}
