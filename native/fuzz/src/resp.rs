//! RESP, as a client reads it.

use assay_wire::resp::codec::{Items, Kind, Reply, Scanner, Step as Scan, decode};

use super::feed::{Reader, Step, same_however_cut, words};
use super::transcript::Transcript;

/// The input is what a server sends.
///
/// # Panics
/// When something does not hold.
pub fn check(input: &[u8]) {
    same_however_cut(input, Replies::default);
    same_however_cut(input, || Ends { discards: true, ..Ends::default() });
    same_however_cut(input, Ends::default);
    both_readers_say_the_same(input);
}

/// What the client says of it.
pub fn said(input: &[u8]) -> String {
    words(input, &mut Replies)
}

/// Replies whole.
#[derive(Default)]
pub struct Replies;

impl Reader for Replies {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        match decode(input) {
            Ok(Some((bytes, reply))) => {
                note(reply, transcript);
                Step::Took(bytes)
            }
            Ok(None) => Step::More(0),
            Err(error) => {
                transcript.note(error);
                Step::Over
            }
        }
    }
}

fn note(reply: Reply<'_>, transcript: &mut Transcript) {
    match reply {
        Reply::Array(items) => note_items("array", items, transcript),
        Reply::Set(items) => note_items("set", items, transcript),
        Reply::Push(items) => note_items("push", items, transcript),
        Reply::Map(items) => note_items("map", items, transcript),
        reply => transcript.note(reply),
    }
}

fn note_items(name: &str, items: Items<'_>, transcript: &mut Transcript) {
    transcript.note(format_args!("{name} of {}", items.len()));
    let announced = items.len();
    let mut seen = 0;
    for item in items {
        note(item, transcript);
        seen += 1;
    }
    assert_eq!(seen, announced, "items were decoded once, and not again");
}

/// Where replies end, from the start of the input, and what they are.
#[derive(Default)]
struct Ends {
    scanner: Scanner,
    /// Whether bytes are taken off the input as soon as they are not needed any more.
    discards: bool,
    passed: u64,
}

impl Reader for Ends {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        match self.scanner.next(input) {
            Ok(Scan::End { bytes, kind }) => {
                self.passed += bytes as u64;
                transcript.note((self.passed, kind));
                Step::Took(bytes)
            }
            Ok(Scan::More) => {
                let discarded = if self.discards { self.scanner.discard() } else { 0 };
                self.passed += discarded as u64;
                Step::More(discarded)
            }
            Err(error) => {
                transcript.note(error);
                Step::Over
            }
        }
    }
}

/// The scanner accepts every reply that the decoder does, and says the same of it.
fn both_readers_say_the_same(input: &[u8]) {
    let mut rest = input;
    while let Ok(decoded) = decode(rest) {
        let scanned = Scanner::default().next(rest);
        let scanned = scanned.expect("the scanner accepts what the decoder does");
        let Some((bytes, reply)) = decoded else {
            assert_eq!(scanned, Scan::More);
            return;
        };
        let kind = match reply {
            Reply::Error(_) => Kind::Error,
            Reply::Null => Kind::Null,
            Reply::Push(_) => Kind::Push,
            _ => Kind::Value,
        };
        assert_eq!(scanned, Scan::End { bytes, kind });
        rest = &rest[bytes..];
    }
}
