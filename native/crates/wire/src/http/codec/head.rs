//! Heads of answers.

use crate::WireError;
use crate::http::unexpected;

/// The longest head that is read, in bytes.
pub const HEAD_MAX: usize = 64 * 1024;

/// What of an answer's head matters to who reads its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether another request may follow on this connection.
    pub stays_open: bool,
}

impl Head {
    /// The same head as an answer to `HEAD`, which has no body whatever its fields say.
    #[must_use]
    pub fn without_body(self) -> Self {
        Self { framing: Framing::Empty, ..self }
    }
}

/// How a body ends (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// After so many bytes.
    Length(u64),
    /// With a chunk of no bytes.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// Reads heads, and knows the last one again.
#[derive(Clone, Debug, Default)]
pub struct HeadReader {
    last: Vec<u8>,
    meaning: Option<Head>,
    /// Bytes of the input that hold no end of a head.
    searched: usize,
}

impl HeadReader {
    /// The head that the input starts with and its length; none while it is not all there.
    ///
    /// # Errors
    /// `Protocol` when it is none, or longer than [`HEAD_MAX`].
    #[inline]
    pub fn next(&mut self, input: &[u8]) -> Result<Option<(usize, Head)>, WireError> {
        match self.meaning {
            Some(head) if input.starts_with(&self.last) => {
                self.searched = 0;
                Ok(Some((self.last.len(), head)))
            }
            _ => self.read(input),
        }
    }

    fn read(&mut self, input: &[u8]) -> Result<Option<(usize, Head)>, WireError> {
        let end = match head_end(input, self.searched) {
            Some(end) if end <= HEAD_MAX => end,
            None if input.len() <= HEAD_MAX => {
                self.searched = input.len();
                return Ok(None);
            }
            _ => return Err(unexpected(format!("a head of more than {HEAD_MAX} bytes"))),
        };
        self.searched = 0;
        let head = parse_head(&input[..end])?;
        self.last.clear();
        self.last.extend_from_slice(&input[..end]);
        self.meaning = Some(head);
        Ok(Some((end, head)))
    }

    /// The bytes of the last head that was read.
    pub fn last(&self) -> &[u8] {
        &self.last
    }
}

/// The length of the head at the start of the input, with the empty line that ends it. The first
/// `searched` bytes are known not to hold its end.
pub fn head_end(input: &[u8], searched: usize) -> Option<usize> {
    let start = searched.saturating_sub(3);
    let rest = &input[start..];
    let mut ends = memchr::memchr_iter(b'\n', rest).map(|place| place + 1);
    // Lines are short: looking at each costs less than preparing a search for all four bytes.
    ends.find(|end| rest[..*end].ends_with(b"\r\n\r\n")).map(|end| start + end)
}

/// What a whole head means, its empty line included.
///
/// # Errors
/// `Protocol` when it is no head of HTTP/1, or says how its body ends in two ways.
pub fn parse_head(head: &[u8]) -> Result<Head, WireError> {
    let mut lines = Lines(head);
    let (status, is_1_1) = status_line(lines.next_line()?)?;
    let mut fields = Fields::default();
    loop {
        match lines.next_line()? {
            [] if lines.0.is_empty() => break,
            [] => return Err(unexpected("an empty line within a head")),
            line => fields.add(line)?,
        }
    }
    let framing = match status {
        100..=199 | 204 | 304 => Framing::Empty,
        _ => fields.framing()?,
    };
    let is_kept = if is_1_1 { !fields.closes } else { fields.keeps && !fields.closes };
    Ok(Head { status, framing, stays_open: is_kept && framing != Framing::UntilClose })
}

/// The words after the status in a head, such as `Not Found`.
pub fn reason(head: &[u8]) -> String {
    let line = Lines(head).next_line().unwrap_or_default();
    String::from_utf8_lossy(line.get(13..).unwrap_or_default()).into_owned()
}

struct Lines<'i>(&'i [u8]);

impl<'i> Lines<'i> {
    fn next_line(&mut self) -> Result<&'i [u8], WireError> {
        let end = memchr::memchr2(b'\r', b'\n', self.0)
            .ok_or_else(|| unexpected("a head that does not end"))?;
        if self.0.get(end..end + 2) != Some(b"\r\n") {
            return Err(unexpected("a line that does not end with CR LF"));
        }
        let line = &self.0[..end];
        self.0 = &self.0[end + 2..];
        Ok(line)
    }
}

fn status_line(line: &[u8]) -> Result<(u16, bool), WireError> {
    let is_1_1 = match line.get(..9) {
        Some(b"HTTP/1.1 ") => true,
        Some(b"HTTP/1.0 ") => false,
        _ => return Err(unexpected("an answer that does not start with HTTP/1.1 or HTTP/1.0")),
    };
    match &line[9..] {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..]
            if rest.first().is_none_or(|byte| *byte == b' ') =>
        {
            let digits = [a, b, c].map(|digit| u16::from(digit - b'0'));
            Ok((digits[0] * 100 + digits[1] * 10 + digits[2], is_1_1))
        }
        _ => Err(unexpected("a status that is no number of three digits")),
    }
}

/// The fields that matter, as far as they were met.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    has_coding: bool,
    is_chunked: bool,
    closes: bool,
    keeps: bool,
}

impl Fields {
    fn add(&mut self, line: &[u8]) -> Result<(), WireError> {
        let end = line.iter().position(|byte| !IS_TOKEN[usize::from(*byte)]).unwrap_or(0);
        let (name, rest) = line.split_at(end);
        let Some((b':', value)) = rest.split_first() else {
            return Err(unexpected("a header field without a proper name"));
        };
        if name.is_empty() {
            return Err(unexpected("a header field without a name"));
        }
        // Most fields have other lengths, so that names are rarely compared.
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.has_coding = true;
                let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                self.is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.closes |= option.eq_ignore_ascii_case(b"close");
            self.keeps |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), WireError> {
        let value = value.trim_ascii();
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().filter(|_| is_number);
        let number = number
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| unexpected("a Content-Length that is no number"))?;
        if self.length.is_some_and(|length| length != number) {
            return Err(unexpected("two Content-Lengths that differ"));
        }
        self.length = Some(number);
        Ok(())
    }

    fn framing(&self) -> Result<Framing, WireError> {
        match (self.has_coding, self.length) {
            (true, Some(_)) => Err(unexpected("both Content-Length and Transfer-Encoding")),
            (true, None) if self.is_chunked => Ok(Framing::Chunked),
            (false, Some(0)) => Ok(Framing::Empty),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (_, None) => Ok(Framing::UntilClose),
        }
    }
}

/// Which bytes a field's name may hold (RFC 9110, section 5.6.2).
const IS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let others = b"!#$%&'*+-.^_`|~";
    let mut place = 0;
    while place < 256 {
        table[place] = (place as u8).is_ascii_alphanumeric();
        place += 1;
    }
    place = 0;
    while place < others.len() {
        table[others[place] as usize] = true;
        place += 1;
    }
    table
};
