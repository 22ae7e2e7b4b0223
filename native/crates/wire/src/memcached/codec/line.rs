//! One line of a reply.

use super::{LINE_MAX, VALUE_MAX};
use crate::WireError;
use crate::memcached::unexpected;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'i> {
    /// A value of so many bytes follows.
    Value { key: &'i [u8], flags: u32, bytes: u64, unique: Option<u64> },
    /// A counter or setting.
    Stat { name: &'i [u8], value: &'i [u8] },
    /// The end of values or counters.
    End,
    /// What was asked is done.
    Done(&'i [u8]),
    /// What was asked is not done, as the key is not there or another is.
    NotDone(&'i [u8]),
    /// What a number has become.
    Number(u64),
    /// The server's version.
    Version(&'i [u8]),
    /// What was asked is refused.
    Error(&'i [u8]),
}

/// Why reading ended early.
pub enum Stop {
    Incomplete,
    Wrong(WireError),
}

pub fn wrong(what: impl Into<String>) -> Stop {
    Stop::Wrong(unexpected(what))
}

/// The line that starts here, and its bytes with its end.
#[inline]
pub fn read(input: &[u8]) -> Result<(usize, Line<'_>), Stop> {
    let too_long = || wrong(format!("a line of more than {LINE_MAX} bytes"));
    let Some(end) = memchr::memchr(b'\n', input) else {
        return Err(if input.len() > LINE_MAX + 1 { too_long() } else { Stop::Incomplete });
    };
    match input[..end].split_last() {
        Some((b'\r', text)) if text.len() <= LINE_MAX => Ok((end + 1, parse(text)?)),
        Some((b'\r', _)) => Err(too_long()),
        _ if end > LINE_MAX + 1 => Err(too_long()),
        _ => Err(wrong("a line that does not end with a carriage return and a line feed")),
    }
}

fn parse(text: &[u8]) -> Result<Line<'_>, Stop> {
    let (word, rest) = match memchr::memchr(b' ', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[][..]),
    };
    Ok(match word {
        b"VALUE" => value(rest)?,
        b"END" => Line::End,
        b"STORED" | b"DELETED" | b"TOUCHED" | b"OK" | b"RESET" => Line::Done(word),
        b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" => Line::NotDone(word),
        b"STAT" => {
            let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
            Line::Stat { name: &rest[..end], value: rest.get(end + 1..).unwrap_or_default() }
        }
        b"VERSION" => Line::Version(rest),
        // `ERROR: shutdown not enabled` has a colon.
        b"ERROR" | b"ERROR:" | b"CLIENT_ERROR" | b"SERVER_ERROR" => Line::Error(text),
        [b'0'..=b'9', ..] => Line::Number(number(text)?),
        _ => return Err(unknown(word)),
    })
}

#[inline]
fn value(rest: &[u8]) -> Result<Line<'_>, Stop> {
    let mut words = rest.split(|byte| *byte == b' ');
    let mut next = || words.next().filter(|word| !word.is_empty());
    let (Some(key), Some(flags), Some(bytes)) = (next(), next(), next()) else {
        return Err(wrong("a value without key, flags or length"));
    };
    let unique = next().map(number).transpose()?;
    let flags = u32::try_from(number(flags)?).map_err(|_| wrong("flags of more than 32 bits"))?;
    let bytes = number(bytes)?;
    if bytes > VALUE_MAX {
        return Err(wrong(format!("a value of {bytes} bytes, above {VALUE_MAX}")));
    }
    if words.next().is_some() {
        return Err(wrong("a value's line of too many words"));
    }
    Ok(Line::Value { key, flags, bytes, unique })
}

/// A number of 64 bits. memcached fills what a shorter number leaves with spaces.
fn number(text: &[u8]) -> Result<u64, Stop> {
    let add = |sum: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    };
    let digits = text.trim_ascii_end();
    let value = digits.iter().try_fold(0, add).filter(|_| !digits.is_empty());
    value.ok_or_else(|| wrong("a number that is none of 64 bits"))
}

#[cold]
fn unknown(word: &[u8]) -> Stop {
    let shown = &word[..word.len().min(40)];
    wrong(format!("a line that starts with {:?}", String::from_utf8_lossy(shown)))
}
