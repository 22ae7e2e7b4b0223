//! HTTP/1.1 as a client asks it: `GET`, over one connection for many requests.
//!
//! Sources: RFC 9110 (what statuses and header fields mean) and RFC 9112 (how messages are framed).
//! Stricter than it may be where two readers could disagree: only CR LF ends a line, no folded
//! lines, no message with both `Content-Length` and `Transfer-Encoding`.

pub mod codec;
mod session;
mod target;

pub use session::{Answer, Session};
pub use target::{BadTarget, HttpTarget};

use crate::WireError;

/// What the server sent and should not have.
fn unexpected(what: impl Into<String>) -> WireError {
    WireError::Protocol { protocol: "HTTP/1.1", what: what.into() }
}
