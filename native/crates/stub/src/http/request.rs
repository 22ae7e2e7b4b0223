//! Heads of requests.

use assay_wire::http::codec::{HEAD_MAX, head_end};

/// What of a request matters to who answers all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether only the head is wanted.
    pub is_head: bool,
    /// Whether another request may follow on this connection.
    pub stays_open: bool,
}

/// What the input starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A request of so many bytes.
    Request(usize, Request),
    /// Less than a request.
    Part,
    /// What these servers do not answer: no HTTP/1, another method, or a body.
    Refused,
}

/// What is sent before closing to whom is refused.
pub const REFUSAL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Reads requests, and knows the last one again: a load generator asks for the same thing over and
/// over, and the very same bytes cost one comparison.
#[derive(Default)]
pub struct RequestReader {
    last: Vec<u8>,
    meaning: Option<Request>,
    forwarded: Vec<u8>,
}

impl RequestReader {
    /// The request that the input starts with.
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Found {
        match self.meaning {
            Some(request) if input.starts_with(&self.last) => {
                Found::Request(self.last.len(), request)
            }
            _ => self.read(input),
        }
    }

    fn read(&mut self, input: &[u8]) -> Found {
        let end = match head_end(input, 0) {
            Some(end) if end <= HEAD_MAX => end,
            None if input.len() <= HEAD_MAX => return Found::Part,
            _ => return Found::Refused,
        };
        let Some(request) = meaning(&input[..end]) else { return Found::Refused };
        self.last.clear();
        self.last.extend_from_slice(&input[..end]);
        self.meaning = Some(request);
        without_connection(&input[..end], &mut self.forwarded);
        Found::Request(end, request)
    }

    /// The last request as it goes to somebody else.
    pub fn forwarded(&self) -> &[u8] {
        &self.forwarded
    }
}

fn meaning(head: &[u8]) -> Option<Request> {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let line = lines.next()?;
    let is_head = line.starts_with(b"HEAD /");
    if !is_head && !line.starts_with(b"GET /") {
        return None;
    }
    let mut stays_open = line.ends_with(b" HTTP/1.1");
    if !stays_open && !line.ends_with(b" HTTP/1.0") {
        return None;
    }
    for line in lines {
        match field(line) {
            Some(Field::Connection(value)) => {
                stays_open &= !value.to_ascii_lowercase().windows(5).any(|word| word == b"close");
            }
            Some(Field::Body) => return None,
            None => {}
        }
    }
    Some(Request { is_head, stays_open })
}

enum Field<'i> {
    Connection(&'i [u8]),
    Body,
}

fn field(line: &[u8]) -> Option<Field<'_>> {
    let (name, value) = line.split_at(memchr::memchr(b':', line)?);
    match name.len() {
        10 if name.eq_ignore_ascii_case(b"connection") => Some(Field::Connection(&value[1..])),
        14 if name.eq_ignore_ascii_case(b"content-length") => {
            (value[1..].trim_ascii() != b"0").then_some(Field::Body)
        }
        17 if name.eq_ignore_ascii_case(b"transfer-encoding") => Some(Field::Body),
        _ => None,
    }
}

/// A head without what holds for one connection only.
pub fn without_connection(head: &[u8], output: &mut Vec<u8>) {
    output.clear();
    let others = head
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !matches!(field(line), Some(Field::Connection(_))));
    others.for_each(|line| output.extend_from_slice(line));
}
