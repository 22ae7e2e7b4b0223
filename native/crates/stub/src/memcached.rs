//! memcached's text protocol without data: every key has the same value, and every command is done.

use std::rc::Rc;

use assay_wire::answers::STAND_IN;

use crate::serve::{Answered, Service, Then, has_room};

/// The longest line of a command that is read, in bytes, as in memcached.
const LINE_MAX: usize = 2048;
/// The largest value that is read, in bytes.
const VALUE_MAX: usize = 64 * 1024 * 1024;

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of the value of every key.
    pub value_bytes: usize,
}

/// Makes what attends to a connection.
pub fn service(options: Options) -> impl Fn() -> SameValue {
    let value = [vec![b'x'; options.value_bytes].as_slice(), b"\r\n"].concat();
    let value: Rc<[u8]> = value.into();
    move || SameValue { value: Rc::clone(&value) }
}

/// One connection's commands.
pub struct SameValue {
    /// The value of every key, with its line end.
    value: Rc<[u8]>,
}

/// What stands at the start of the input.
enum Request<'i> {
    /// A command of so many bytes.
    Whole(usize, &'i [u8]),
    Part,
    /// What nothing can be read behind, and what is said to it.
    Refused(&'static [u8]),
}

impl Service for SameValue {
    fn answer(&mut self, input: &[u8], output: &mut Vec<u8>) -> Answered {
        let mut at = 0;
        while has_room(output) {
            match request(&input[at..]) {
                Request::Part => return Answered { bytes: at, then: Then::Read },
                Request::Whole(_, b"quit") => return Answered { bytes: at, then: Then::Close },
                Request::Whole(bytes, line) => {
                    at += bytes;
                    self.answer_to(line, output);
                }
                Request::Refused(words) => {
                    output.extend_from_slice(words);
                    return Answered { bytes: at, then: Then::Close };
                }
            }
        }
        Answered { bytes: at, then: Then::GoOn }
    }
}

impl SameValue {
    fn answer_to(&self, line: &[u8], output: &mut Vec<u8>) {
        let mut words = words(line);
        let answer: &[u8] = match words.next().unwrap_or_default() {
            _ if line.ends_with(b" noreply") => b"",
            b"get" => return self.values(words, b"", output),
            b"gets" => return self.values(words, b" 1", output),
            name if is_storing(name) => b"STORED\r\n",
            b"delete" => b"DELETED\r\n",
            b"touch" => b"TOUCHED\r\n",
            b"incr" | b"decr" => b"1\r\n",
            b"flush_all" | b"verbosity" => b"OK\r\n",
            b"stats" => b"END\r\n",
            b"version" => {
                output.extend_from_slice(format!("VERSION {STAND_IN}\r\n").as_bytes());
                return;
            }
            _ => b"ERROR\r\n",
        };
        output.extend_from_slice(answer);
    }

    fn values<'i>(
        &self,
        keys: impl Iterator<Item = &'i [u8]>,
        unique: &[u8],
        output: &mut Vec<u8>,
    ) {
        let length = (self.value.len() - 2).to_string();
        for key in keys {
            for part in [b"VALUE ", key, b" 0 ", length.as_bytes(), unique, b"\r\n", &self.value] {
                output.extend_from_slice(part);
            }
        }
        output.extend_from_slice(b"END\r\n");
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

fn is_storing(name: &[u8]) -> bool {
    matches!(name, b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas")
}

/// The first command of the input, with the value that belongs to it.
fn request(input: &[u8]) -> Request<'_> {
    let too_long = Request::Refused(b"CLIENT_ERROR line too long\r\n");
    let line_bytes = match memchr::memchr(b'\n', input) {
        Some(end) if end <= LINE_MAX => end + 1,
        None if input.len() <= LINE_MAX => return Request::Part,
        _ => return too_long,
    };
    let line = &input[..line_bytes - 1];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = words(line);
    if !words.next().is_some_and(is_storing) {
        return Request::Whole(line_bytes, line);
    }
    let length = words.nth(3).and_then(|word| str::from_utf8(word).ok()?.parse::<usize>().ok());
    let Some(length) = length.filter(|length| *length <= VALUE_MAX) else {
        return Request::Refused(b"CLIENT_ERROR bad command line format\r\n");
    };
    let end = line_bytes + length;
    match input.get(end..end + 2) {
        None => Request::Part,
        Some(b"\r\n") => Request::Whole(end + 2, line),
        Some(_) => Request::Refused(b"CLIENT_ERROR bad data chunk\r\n"),
    }
}
