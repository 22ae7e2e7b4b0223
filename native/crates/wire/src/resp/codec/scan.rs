//! Where replies end, without looking at what they hold.
//!
//! No stack is needed for that: an aggregate is so many elements more to pass, wherever it stands.

use super::LINE_MAX;
use super::reply::{Stop, length, line, unended};
use crate::WireError;
use crate::resp::unexpected;

/// What a reply is to who only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any value.
    Value,
    /// No value.
    Null,
    /// An error.
    Error,
    /// Nothing that was asked for: it answers no command.
    Push,
}

/// How far a scan came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A reply ends after so many bytes of the input.
    End {
        /// From the start of the input.
        bytes: usize,
        /// What it is.
        kind: Kind,
    },
    /// The input ends within a reply.
    More,
}

/// Finds the ends of replies, one after another; goes on where it stopped when more has come.
///
/// It accepts every reply that [`super::decode`] does, says the same of it, and takes no offence at
/// depth or at what a line says. Whoever discards bytes as they come ([`Scanner::discard`]) passes
/// a reply of any size in constant memory.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    /// Bytes of the input that are passed.
    at: usize,
    /// Elements to pass before the reply ends; none between replies.
    left: u64,
    /// What is left of a bulk that has begun, without its line end.
    payload: Option<u64>,
    /// What the reply is, once its own first line was seen.
    kind: Option<Kind>,
}

/// What the first line of a reply or element announces.
enum Header {
    Line(Kind),
    Payload(u64, Kind),
    Elements(u64, Kind),
    Attribute(u64),
}

impl Scanner {
    /// The end of the reply that the input starts with, or went on with when bytes were discarded.
    ///
    /// # Errors
    /// `Protocol` when no server may send this.
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Result<Step, WireError> {
        if self.left == 0 {
            (self.left, self.kind) = (1, None);
        }
        match self.pass(input) {
            Ok(()) => {
                let bytes = std::mem::take(&mut self.at);
                Ok(Step::End { bytes, kind: self.kind.unwrap_or(Kind::Value) })
            }
            Err(Stop::Incomplete) => Ok(Step::More),
            Err(Stop::Wrong(error)) => Err(error),
        }
    }

    /// After [`Step::More`]: how many bytes the caller is to take off the input, as they are not
    /// needed again. An error's text is kept whole.
    pub fn discard(&mut self) -> usize {
        if self.kind == Some(Kind::Error) { 0 } else { std::mem::take(&mut self.at) }
    }

    fn pass(&mut self, input: &[u8]) -> Result<(), Stop> {
        while self.left > 0 {
            if self.payload.is_some() {
                self.pass_payload(input)?;
                continue;
            }
            let (bytes, header) = header(&input[self.at..])?;
            self.at += bytes;
            self.enter(header)?;
        }
        Ok(())
    }

    fn enter(&mut self, header: Header) -> Result<(), Stop> {
        let (kind, more) = match header {
            Header::Attribute(elements) => return self.add(elements),
            Header::Line(kind) => (kind, 0),
            Header::Elements(count, kind) => (kind, count),
            Header::Payload(bytes, kind) => {
                self.payload = Some(bytes);
                (kind, 1)
            }
        };
        // The elements of its attributes are passed, so this is the reply itself.
        if self.left == 1 && self.kind.is_none() {
            self.kind = Some(kind);
        }
        self.left -= 1;
        self.add(more)
    }

    fn add(&mut self, elements: u64) -> Result<(), Stop> {
        let sum = self.left.checked_add(elements);
        self.left = sum.ok_or_else(|| Stop::Wrong(unexpected("more elements than can be")))?;
        Ok(())
    }

    fn pass_payload(&mut self, input: &[u8]) -> Result<(), Stop> {
        let (left, there) = (self.payload.unwrap_or(0), input.len() - self.at);
        let passed = left.min(there as u64);
        self.at += passed as usize;
        self.payload = Some(left - passed);
        match &input[self.at..] {
            _ if passed < left => return Err(Stop::Incomplete),
            [b'\r', b'\n', ..] => {}
            [] | [b'\r'] => return Err(Stop::Incomplete),
            _ => return Err(unended()),
        }
        self.at += 2;
        self.payload = None;
        self.left -= 1;
        Ok(())
    }
}

/// What the input's first line announces, and its length.
#[inline]
fn header(input: &[u8]) -> Result<(usize, Header), Stop> {
    let (mark, rest) = input.split_first().ok_or(Stop::Incomplete)?;
    match mark {
        b'$' | b'*' => {
            let (bytes, length) = length(rest)?;
            let header = match length {
                None => Header::Line(Kind::Null),
                Some(length) if *mark == b'$' => Header::Payload(length, Kind::Value),
                Some(length) => Header::Elements(length, Kind::Value),
            };
            Ok((bytes + 1, header))
        }
        b'+' | b':' | b',' | b'#' | b'(' => Ok((line(rest)?.len() + 3, Header::Line(Kind::Value))),
        b'-' => Ok((line(rest)?.len() + 3, Header::Line(Kind::Error))),
        b'_' => Ok((line(rest)?.len() + 3, Header::Line(Kind::Null))),
        _ => rare_header(*mark, rest),
    }
}

#[cold]
fn rare_header(mark: u8, rest: &[u8]) -> Result<(usize, Header), Stop> {
    if !b"=!~>%|".contains(&mark) {
        let what = format!("a reply that starts with byte {mark:#04x}");
        return Err(Stop::Wrong(unexpected(what)));
    }
    let (bytes, length) = length(rest)?;
    let null = || Stop::Wrong(unexpected("a null that only bulks and arrays can be"));
    let length = length.ok_or_else(null)?;
    let header = match mark {
        b'=' => Header::Payload(length, Kind::Value),
        b'!' if length > LINE_MAX as u64 => {
            return Err(Stop::Wrong(unexpected("an error of more than 64 KiB")));
        }
        b'!' => Header::Payload(length, Kind::Error),
        b'>' => Header::Elements(length, Kind::Push),
        b'~' => Header::Elements(length, Kind::Value),
        b'%' => Header::Elements(length * 2, Kind::Value),
        _ => Header::Attribute(length * 2),
    };
    Ok((bytes + 1, header))
}
