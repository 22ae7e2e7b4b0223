//! HTTP/1.1, as a client reads it.

use assay_wire::http::codec::{BodyReader, HeadReader, parse_head, reason};

use super::feed::{Reader, Step, same_however_cut, words};
use super::transcript::Transcript;

/// The first bit of the first byte says whether the answers are to `HEAD`; the rest is what a
/// server sends.
///
/// # Panics
/// When something does not hold.
pub fn check(input: &[u8]) {
    let Some((how, sent)) = input.split_first() else { return };
    same_however_cut(sent, || Answers::new(*how));
}

/// What the client says of it.
pub fn said(input: &[u8]) -> String {
    let (how, sent) = input.split_first().unwrap_or((&0, &[]));
    words(sent, &mut Answers::new(*how))
}

/// Answers one after another, as a session reads them.
pub struct Answers {
    heads: HeadReader,
    is_head: bool,
    body: Option<BodyReader>,
    stays_open: bool,
}

impl Answers {
    /// None was read yet.
    pub fn new(how: u8) -> Self {
        let heads = HeadReader::default();
        Self { heads, is_head: how & 1 != 0, body: None, stays_open: true }
    }

    fn head(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        match self.heads.next(input) {
            Ok(None) => Step::More(0),
            Ok(Some((bytes, head))) => {
                // A head that is known again means what it says.
                let anew = parse_head(&input[..bytes]).ok();
                assert_eq!(anew, Some(head));
                assert_eq!(self.heads.last(), &input[..bytes]);
                transcript.note((head, reason(self.heads.last())));
                let head = if self.is_head { head.without_body() } else { head };
                if head.status >= 200 {
                    self.stays_open = head.stays_open;
                    self.body = Some(BodyReader::new(head.framing));
                }
                Step::Took(bytes)
            }
            Err(error) => {
                transcript.note(error);
                Step::Over
            }
        }
    }
}

impl Reader for Answers {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        let Some(body) = &mut self.body else { return self.head(input, transcript) };
        match body.next(input, |piece| transcript.bytes(piece)) {
            Ok(progress) if progress.is_over => {
                transcript.note("end");
                self.body = None;
                match self.stays_open {
                    false => Step::Over,
                    // A body of no bytes takes none; what follows it may be there already.
                    true if progress.bytes == 0 => self.head(input, transcript),
                    true => Step::Took(progress.bytes),
                }
            }
            Ok(progress) => Step::More(progress.bytes),
            Err(error) => {
                transcript.note(error);
                Step::Over
            }
        }
    }
}
