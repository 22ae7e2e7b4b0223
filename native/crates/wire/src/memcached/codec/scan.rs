//! Where replies end.

use super::line::{Line, Stop, read, wrong};
use crate::WireError;

/// What a reply is to who only counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value, a counter, or that it is done.
    Done,
    /// A miss, or that nothing was changed: `END` at once, `NOT_FOUND`, `NOT_STORED`, `EXISTS`.
    NotDone,
    /// An error. Its text is the last line of the reply.
    Error,
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

/// What a reply of several lines lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Values,
    Stats,
}

/// Finds the ends of replies, one after another; goes on where it stopped when more has come.
///
/// Whoever discards bytes as they come ([`Scanner::discard`]) passes a reply of any size in
/// constant memory.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    /// Bytes of the input that are passed.
    at: usize,
    /// What is left of a value that has begun, without its line end.
    payload: Option<u64>,
    /// What the reply lists, once it has begun to.
    listing: Option<Listing>,
}

impl Scanner {
    /// The end of the reply that the input starts with, or went on with when bytes were discarded.
    ///
    /// # Errors
    /// `Protocol` when no server may send this.
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Result<Step, WireError> {
        match self.pass(input) {
            Ok(kind) => {
                self.listing = None;
                Ok(Step::End { bytes: std::mem::take(&mut self.at), kind })
            }
            Err(Stop::Incomplete) => Ok(Step::More),
            Err(Stop::Wrong(error)) => Err(error),
        }
    }

    /// After [`Step::More`]: how many bytes the caller is to take off the input, as they are not
    /// needed again. A line is kept until it is whole.
    pub fn discard(&mut self) -> usize {
        std::mem::take(&mut self.at)
    }

    fn pass(&mut self, input: &[u8]) -> Result<Kind, Stop> {
        loop {
            if let Some(left) = self.payload {
                self.pass_payload(left, input)?;
            }
            let (bytes, line) = read(&input[self.at..])?;
            self.at += bytes;
            match (self.listing, line) {
                (None | Some(Listing::Values), Line::Value { bytes, .. }) => {
                    (self.listing, self.payload) = (Some(Listing::Values), Some(bytes));
                }
                (None | Some(Listing::Stats), Line::Stat { .. }) => {
                    self.listing = Some(Listing::Stats);
                }
                (None, Line::End | Line::NotDone(_)) => return Ok(Kind::NotDone),
                (_, Line::Error(_)) => return Ok(Kind::Error),
                (Some(_), Line::End) | (None, _) => return Ok(Kind::Done),
                (Some(_), _) => return Err(wrong("a list with something else in it")),
            }
        }
    }

    fn pass_payload(&mut self, left: u64, input: &[u8]) -> Result<(), Stop> {
        let passed = left.min((input.len() - self.at) as u64);
        self.at += passed as usize;
        self.payload = Some(left - passed);
        match &input[self.at..] {
            _ if passed < left => return Err(Stop::Incomplete),
            [b'\r', b'\n', ..] => {}
            [] | [b'\r'] => return Err(Stop::Incomplete),
            _ => return Err(wrong("a value that does not end where it said")),
        }
        self.at += 2;
        self.payload = None;
        Ok(())
    }
}
