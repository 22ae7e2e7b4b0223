//! PostgreSQL's protocol, as a client reads it.

use assay_wire::WireError;
use assay_wire::postgres::codec::{Authentication, Message, next, rows_of_tag};
use assay_wire::postgres::rows::{Fields, Kind, Row};
use assay_wire::postgres::scram::{Scram, md5_response};
use assay_wire::sql::Row as _;

use super::feed::{Reader, Step, same_however_cut, words};
use super::transcript::Transcript;

/// What the captured users log in with.
pub const PASSWORD: &str = "se cret";
/// Base64 digits of a client's nonce.
const NONCE_BYTES: usize = 24;
/// A challenge may ask for two million rounds of hashing, which is a second.
const ROUNDS_MAX: u32 = 5000;
/// Columns of a row that are also read out of order, which costs the square of them.
const COLUMNS_MAX: usize = 32;

/// The input is what a server sends.
///
/// # Panics
/// When something does not hold.
pub fn check(input: &[u8]) {
    same_however_cut(input, Messages::default);
}

/// What the client says of it.
pub fn said(input: &[u8]) -> String {
    words(input, &mut Messages::default())
}

/// What a client knows of its server.
#[derive(Default)]
pub struct Messages {
    scram: Option<Scram>,
    /// The columns of the rows that come.
    kinds: Vec<Kind>,
}

impl Reader for Messages {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        let taken = next(input).and_then(|found| match found {
            None => Ok(Step::More(0)),
            Some((bytes, message)) => {
                self.take(message, transcript)?;
                Ok(Step::Took(bytes))
            }
        });
        taken.unwrap_or_else(|error| {
            transcript.note(error);
            Step::Over
        })
    }
}

impl Messages {
    fn take(&mut self, message: Message<'_>, transcript: &mut Transcript) -> Result<(), WireError> {
        match message {
            Message::Authentication(asked) => self.authenticate(asked, transcript),
            Message::RowDescription(description) => {
                self.kinds.clear();
                for column in description.columns() {
                    transcript.note(column);
                    self.kinds.push(Kind::of(column.type_oid));
                }
            }
            Message::DataRow(fields) => note_row(fields, &self.kinds, transcript)?,
            Message::CommandComplete { tag } => transcript.note((tag, rows_of_tag(tag))),
            Message::Error(report) | Message::Notice(report) => {
                transcript.note((report.error(), report.is_end()));
            }
            other => transcript.note(other),
        }
        Ok(())
    }

    fn authenticate(&mut self, asked: Authentication<'_>, transcript: &mut Transcript) {
        match asked {
            Authentication::Md5 { salt } => transcript.note(md5_response("user", PASSWORD, salt)),
            Authentication::SaslContinue(challenge) if rounds(challenge) <= ROUNDS_MAX => {
                let mut scram = Scram::with_nonce("", PASSWORD, nonce(challenge));
                transcript.note(scram.answer(challenge));
                self.scram = Some(scram);
            }
            Authentication::SaslFinal(last) => {
                transcript.note(self.scram.as_ref().map(|scram| scram.verify(last)));
            }
            other => transcript.note(other),
        }
    }
}

/// The nonce of the client whom the server challenges.
fn nonce(challenge: &[u8]) -> String {
    let nonce = challenge.strip_prefix(b"r=").unwrap_or_default();
    let ours = &nonce[..nonce.len().min(NONCE_BYTES)];
    String::from_utf8_lossy(ours).into_owned()
}

fn rounds(challenge: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(challenge);
    let rounds = text.split(',').find_map(|part| part.strip_prefix("i=")?.parse().ok());
    rounds.unwrap_or(0)
}

/// Every value of a row, which are the same in whatever order they are asked for.
fn note_row(
    fields: Fields<'_>,
    kinds: &[Kind],
    transcript: &mut Transcript,
) -> Result<(), WireError> {
    assert_eq!(fields.iter().count(), fields.count(), "values were found once, and not again");
    let row = Row::new(fields, kinds)?;
    let shown = |row: &Row<'_>, column| {
        let mut seen = Transcript::hashed();
        seen.note((row.int(column), row.text(column)));
        seen.hash()
    };
    for column in 0..kinds.len() {
        transcript.note((row.int(column), row.text(column)));
    }
    for column in (0..kinds.len().min(COLUMNS_MAX)).rev() {
        let alone = Row::new(fields, kinds)?;
        assert_eq!(shown(&row, column), shown(&alone, column), "column {column}");
    }
    Ok(())
}
