//! Bodies of answers, as they come.

use super::{Framing, HEAD_MAX};
use crate::WireError;
use crate::http::unexpected;

/// The longest line that starts a chunk, in bytes.
const CHUNK_LINE_MAX: usize = 4096;

/// How far reading a body came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that are done with.
    pub bytes: usize,
    /// Whether the body ended with them.
    pub is_over: bool,
}

/// Reads one body in constant memory.
#[derive(Clone, Debug)]
pub struct BodyReader {
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Over,
    Length(u64),
    UntilClose,
    /// Before the line that says how long a chunk is.
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    /// Before a line after the last chunk; so many bytes of such lines may come.
    Trailer(usize),
}

impl BodyReader {
    /// A body that ends as its head said.
    pub fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Empty | Framing::Length(0) => State::Over,
            Framing::Length(bytes) => State::Length(bytes),
            Framing::Chunked => State::ChunkSize,
            Framing::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    /// Reads as much of the input as belongs to the body and can be read, and gives the body's own
    /// bytes, without their framing, to `data` piece by piece.
    ///
    /// # Errors
    /// `Protocol` when a chunk is not framed as it must be.
    #[inline]
    pub fn next(
        &mut self,
        input: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<Progress, WireError> {
        let mut at = 0;
        loop {
            let rest = &input[at..];
            let passed = match self.state {
                State::Over => return Ok(Progress { bytes: at, is_over: true }),
                _ if rest.is_empty() => 0,
                State::Length(left) => {
                    let passed = take(rest, left, &mut data);
                    let left = left - passed as u64;
                    self.state = if left == 0 { State::Over } else { State::Length(left) };
                    passed
                }
                State::Chunk(left) => {
                    let passed = take(rest, left, &mut data);
                    let left = left - passed as u64;
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    passed
                }
                State::UntilClose => take(rest, u64::MAX, &mut data),
                State::ChunkSize | State::ChunkEnd | State::Trailer(_) => self.framing(rest)?,
            };
            at += passed;
            if passed == 0 {
                return Ok(Progress { bytes: at, is_over: false });
            }
        }
    }

    /// Whether the end of the connection is the end of the body.
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::UntilClose)
    }

    /// Passes one line of a chunked body's framing.
    fn framing(&mut self, rest: &[u8]) -> Result<usize, WireError> {
        let line_max = if let State::Trailer(left) = self.state { left } else { CHUNK_LINE_MAX };
        let Some(end) = memchr::memchr(b'\n', &rest[..rest.len().min(line_max)]) else {
            if rest.len() >= line_max {
                return Err(unexpected("a line of a chunked body that is too long"));
            }
            return Ok(0);
        };
        let line = rest[..end].strip_suffix(b"\r");
        let line = line.ok_or_else(|| unexpected("a chunk's line that does not end with CR LF"))?;
        self.state = match self.state {
            State::ChunkSize => match chunk_size(line)? {
                0 => State::Trailer(HEAD_MAX),
                bytes => State::Chunk(bytes),
            },
            State::Trailer(_) if line.is_empty() => State::Over,
            State::Trailer(left) => State::Trailer(left - end - 1),
            _ if line.is_empty() => State::ChunkSize,
            _ => return Err(unexpected("a chunk that does not end where it said")),
        };
        Ok(end + 1)
    }
}

#[inline]
fn take(rest: &[u8], left: u64, data: &mut impl FnMut(&[u8])) -> usize {
    let passed = left.min(rest.len() as u64) as usize;
    data(&rest[..passed]);
    passed
}

/// The hexadecimal number before a chunk's extensions.
fn chunk_size(line: &[u8]) -> Result<u64, WireError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let is_number = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number);
    number
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or_else(|| unexpected("a chunk whose length is no hexadecimal number"))
}
