//! HTTP/1.1 without I/O: the head of an answer, and where its body ends.
//!
//! A server sends nearly the same head again and again; what differs is the date, once a second. So
//! [`HeadReader`] keeps the bytes of the last head with what they mean, and a head of the very same
//! bytes costs one comparison of memory.

mod body;
mod head;

pub use body::{BodyReader, Progress};
pub use head::{Framing, HEAD_MAX, Head, HeadReader, head_end, parse_head, reason};
