//! Whole replies, borrowed from the input.

use super::LINE_MAX;
use crate::WireError;
use crate::resp::unexpected;

/// How deep aggregates may be nested.
pub const DEPTH_MAX: usize = 32;

/// A reply or an element of one. Attributes are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'i> {
    /// A short text, such as `OK`.
    Simple(&'i [u8]),
    /// An error, as a line or as a bulk; the first word is its code.
    Error(&'i [u8]),
    /// An integer.
    Integer(i64),
    /// Bytes.
    Bulk(&'i [u8]),
    /// No value, in any of the three spellings.
    Null,
    /// A floating-point number.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// An integer of any size, as decimal digits.
    BigNumber(&'i [u8]),
    /// A text and what it is written in, such as `txt`.
    Verbatim([u8; 3], &'i [u8]),
    /// Elements in order.
    Array(Items<'i>),
    /// Elements without order.
    Set(Items<'i>),
    /// What the server says unasked.
    Push(Items<'i>),
    /// Keys and values by turns: twice as many items as entries.
    Map(Items<'i>),
}

/// The elements of an aggregate, decoded as they are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Items<'i> {
    bytes: &'i [u8],
    count: u64,
}

impl Items<'_> {
    /// How many are left.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl<'i> Iterator for Items<'i> {
    type Item = Reply<'i>;

    fn next(&mut self) -> Option<Reply<'i>> {
        self.count = self.count.checked_sub(1)?;
        let mut cursor = Cursor { input: self.bytes, at: 0 };
        // They were decoded once when the aggregate was, so they can be.
        let reply = cursor.reply(0).ok()?;
        self.bytes = &self.bytes[cursor.at..];
        Some(reply)
    }
}

/// The first reply of the input and its length in bytes; none while it is not all there.
///
/// # Errors
/// `Protocol` when no server may send this, or when it is nested more than [`DEPTH_MAX`] deep.
pub fn decode(input: &[u8]) -> Result<Option<(usize, Reply<'_>)>, WireError> {
    let mut cursor = Cursor { input, at: 0 };
    match cursor.reply(0) {
        Ok(reply) => Ok(Some((cursor.at, reply))),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Wrong(error)) => Err(error),
    }
}

/// Why decoding ended early.
pub(super) enum Stop {
    Incomplete,
    Wrong(WireError),
}

fn wrong(what: impl Into<String>) -> Stop {
    Stop::Wrong(unexpected(what))
}

/// The line that starts here, without its mark of two bytes.
#[inline]
pub(super) fn line(input: &[u8]) -> Result<&[u8], Stop> {
    let Some(end) = memchr::memchr(b'\r', input) else {
        return Err(if input.len() > LINE_MAX { too_long() } else { Stop::Incomplete });
    };
    match input.get(end + 1) {
        _ if end > LINE_MAX => Err(too_long()),
        Some(b'\n') => Ok(&input[..end]),
        Some(_) => Err(wrong("a carriage return within a line")),
        None => Err(Stop::Incomplete),
    }
}

fn too_long() -> Stop {
    wrong(format!("a line of more than {LINE_MAX} bytes"))
}

/// A length or count, and the bytes of its line with its end. -1 is null and none here; a sign that
/// no server sends is wrong.
#[inline]
pub(super) fn length(input: &[u8]) -> Result<(usize, Option<u64>), Stop> {
    let mut value = 0_u64;
    for (place, byte) in input.iter().enumerate() {
        match byte {
            b'0'..=b'9' if place < 18 => value = value * 10 + u64::from(byte - b'0'),
            b'\r' if place > 0 => {
                return match input.get(place + 1) {
                    Some(b'\n') => Ok((place + 2, Some(value))),
                    Some(_) => Err(wrong("a carriage return within a length")),
                    None => Err(Stop::Incomplete),
                };
            }
            b'-' if place == 0 => return minus_one(input),
            _ => return Err(wrong(format!("byte {byte:#04x} in a length, or too long a length"))),
        }
    }
    Err(Stop::Incomplete)
}

fn minus_one(input: &[u8]) -> Result<(usize, Option<u64>), Stop> {
    let null = b"-1\r\n";
    let there = input.len().min(null.len());
    match input[..there] == null[..there] {
        true if there == null.len() => Ok((null.len(), None)),
        true => Err(Stop::Incomplete),
        false => Err(wrong("a length below -1")),
    }
}

struct Cursor<'i> {
    input: &'i [u8],
    at: usize,
}

impl<'i> Cursor<'i> {
    fn reply(&mut self, depth: usize) -> Result<Reply<'i>, Stop> {
        if depth > DEPTH_MAX {
            return Err(wrong(format!("a reply nested more than {DEPTH_MAX} deep")));
        }
        loop {
            let mark = *self.input.get(self.at).ok_or(Stop::Incomplete)?;
            self.at += 1;
            return match mark {
                b'+' => self.line().map(Reply::Simple),
                b'-' => self.line().map(Reply::Error),
                b':' => self.integer(),
                b'$' => Ok(self.payload()?.map_or(Reply::Null, Reply::Bulk)),
                b'_' => self.null(),
                b',' => self.double(),
                b'#' => self.boolean(),
                b'(' => self.big_number(),
                b'!' => self.bulk_error(),
                b'=' => self.verbatim(),
                b'*' => Ok(self.items(1, depth)?.map_or(Reply::Null, Reply::Array)),
                b'~' => self.some_items(1, depth).map(Reply::Set),
                b'>' => self.some_items(1, depth).map(Reply::Push),
                b'%' => self.some_items(2, depth).map(Reply::Map),
                b'|' => {
                    self.some_items(2, depth)?;
                    continue;
                }
                other => Err(wrong(format!("a reply that starts with byte {other:#04x}"))),
            };
        }
    }

    fn line(&mut self) -> Result<&'i [u8], Stop> {
        let line = line(&self.input[self.at..])?;
        self.at += line.len() + 2;
        Ok(line)
    }

    fn integer(&mut self) -> Result<Reply<'i>, Stop> {
        let line = self.line()?;
        let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
        number.map(Reply::Integer).ok_or_else(|| wrong("an integer that is none"))
    }

    fn null(&mut self) -> Result<Reply<'i>, Stop> {
        match self.line()? {
            [] => Ok(Reply::Null),
            _ => Err(wrong("a null with something in it")),
        }
    }

    fn double(&mut self) -> Result<Reply<'i>, Stop> {
        let line = self.line()?;
        let number = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
        number.map(Reply::Double).ok_or_else(|| wrong("a double that is none"))
    }

    fn boolean(&mut self) -> Result<Reply<'i>, Stop> {
        match self.line()? {
            b"t" => Ok(Reply::Boolean(true)),
            b"f" => Ok(Reply::Boolean(false)),
            _ => Err(wrong("a boolean that is neither t nor f")),
        }
    }

    fn big_number(&mut self) -> Result<Reply<'i>, Stop> {
        let line = self.line()?;
        let digits = line.strip_prefix(b"-").or(line.strip_prefix(b"+")).unwrap_or(line);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(wrong("a big number that is none"));
        }
        Ok(Reply::BigNumber(line))
    }

    /// Bytes of a stated length.
    fn payload(&mut self) -> Result<Option<&'i [u8]>, Stop> {
        let (bytes, length) = length(&self.input[self.at..])?;
        self.at += bytes;
        let Some(length) = length else { return Ok(None) };
        let rest = &self.input[self.at..];
        let length = usize::try_from(length).map_err(|_| wrong("a length beyond memory"))?;
        match rest.get(length..).ok_or(Stop::Incomplete)? {
            [b'\r', b'\n', ..] => {}
            [] | [b'\r'] => return Err(Stop::Incomplete),
            _ => return Err(unended()),
        }
        self.at += length + 2;
        Ok(Some(&rest[..length]))
    }

    fn bulk_error(&mut self) -> Result<Reply<'i>, Stop> {
        match length(&self.input[self.at..])? {
            (_, Some(length)) if length <= LINE_MAX as u64 => {}
            (_, Some(_)) => return Err(too_long()),
            (_, None) => return Err(wrong("an error without text")),
        }
        Ok(self.payload()?.map_or(Reply::Null, Reply::Error))
    }

    fn verbatim(&mut self) -> Result<Reply<'i>, Stop> {
        match self.payload()? {
            Some([a, b, c, b':', text @ ..]) => Ok(Reply::Verbatim([*a, *b, *c], text)),
            _ => Err(wrong("a verbatim string without format")),
        }
    }

    fn some_items(&mut self, per_entry: u64, depth: usize) -> Result<Items<'i>, Stop> {
        self.items(per_entry, depth)?.ok_or_else(|| wrong("a null that only arrays can be"))
    }

    fn items(&mut self, per_entry: u64, depth: usize) -> Result<Option<Items<'i>>, Stop> {
        let (bytes, count) = length(&self.input[self.at..])?;
        self.at += bytes;
        let Some(count) = count else { return Ok(None) };
        let (start, count) = (self.at, count * per_entry);
        for _ in 0..count {
            self.reply(depth + 1)?;
        }
        Ok(Some(Items { bytes: &self.input[start..self.at], count }))
    }
}

pub(super) fn unended() -> Stop {
    wrong("a bulk that does not end where it said")
}
