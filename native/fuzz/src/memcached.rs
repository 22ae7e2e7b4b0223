//! memcached's text protocol, as a client reads it.

use assay_wire::memcached::codec::{Reply, Scanner, Step as Scan, decode};

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
                match reply {
                    Reply::Items(items) => items.for_each(|item| transcript.note(item)),
                    reply => transcript.note(reply),
                }
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
                let decoded = decode(&input[..bytes]);
                assert!(self.discards || matches!(decoded, Ok(Some((all, _))) if all == bytes));
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
