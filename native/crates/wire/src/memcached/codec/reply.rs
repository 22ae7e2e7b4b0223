//! Whole replies, borrowed from the input.

use super::line::{Line, read};
use super::scan::{Kind, Scanner, Step};
use crate::WireError;
use crate::memcached::unexpected;

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'i> {
    /// Values or counters, or none of them.
    Items(Items<'i>),
    /// `STORED`, `DELETED`, `TOUCHED`, `OK` or `RESET`.
    Done(&'i [u8]),
    /// `NOT_STORED`, `EXISTS` or `NOT_FOUND`.
    NotDone(&'i [u8]),
    /// What a number has become.
    Number(u64),
    /// The server's version.
    Version(&'i [u8]),
    /// An error; the first word is its code.
    Error(&'i [u8]),
}

/// One value or counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'i> {
    /// A value.
    Value {
        /// Its key.
        key: &'i [u8],
        /// What the client that wrote it kept beside it.
        flags: u32,
        /// Its bytes.
        data: &'i [u8],
        /// Its version, if it was asked for (`gets`).
        unique: Option<u64>,
    },
    /// A counter or setting.
    Stat {
        /// Its name.
        name: &'i [u8],
        /// Its value.
        value: &'i [u8],
    },
}

/// Values or counters, decoded as they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items<'i>(&'i [u8]);

impl<'i> Iterator for Items<'i> {
    type Item = Item<'i>;

    fn next(&mut self) -> Option<Item<'i>> {
        // They were scanned once, so they can be read.
        let (line_bytes, line) = read(self.0).ok()?;
        let (item, bytes) = match line {
            Line::Value { key, flags, bytes, unique } => {
                let end = line_bytes + bytes as usize;
                let data = &self.0[line_bytes..end];
                (Item::Value { key, flags, data, unique }, end + 2)
            }
            Line::Stat { name, value } => (Item::Stat { name, value }, line_bytes),
            _ => return None,
        };
        self.0 = &self.0[bytes..];
        Some(item)
    }
}

/// The first reply of the input and its length in bytes; none while it is not all there.
///
/// # Errors
/// `Protocol` when no server may send this.
pub fn decode(input: &[u8]) -> Result<Option<(usize, Reply<'_>)>, WireError> {
    let Step::End { bytes, kind } = Scanner::default().next(input)? else { return Ok(None) };
    Ok(Some((bytes, of_scanned(&input[..bytes], kind)?)))
}

/// A reply whose end was found, at least its last line.
pub(in crate::memcached) fn of_scanned(input: &[u8], kind: Kind) -> Result<Reply<'_>, WireError> {
    if kind == Kind::Error {
        let text = input.strip_suffix(b"\r\n").unwrap_or(input);
        let start = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
        return Ok(Reply::Error(&text[start..]));
    }
    let line = read(input).map_err(|_| unexpected("a reply that ends within itself"))?.1;
    Ok(match line {
        Line::Value { .. } | Line::Stat { .. } | Line::End => Reply::Items(Items(input)),
        Line::Done(word) => Reply::Done(word),
        Line::NotDone(word) => Reply::NotDone(word),
        Line::Number(number) => Reply::Number(number),
        Line::Version(text) => Reply::Version(text),
        Line::Error(text) => Reply::Error(text),
    })
}
