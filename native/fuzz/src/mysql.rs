//! MySQL's protocol, as a client reads it.

use assay_wire::WireError;
use assay_wire::mysql::answer::{Answer, Event, Preparation, Shape};
use assay_wire::mysql::auth::Method;
use assay_wire::mysql::codec::{Next, Packets};
use assay_wire::mysql::packets::{Greeting, Turn};
use assay_wire::mysql::rows::{Column, Columns, Row};
use assay_wire::sql::Row as _;

use super::feed::{Reader, Step, same_however_cut, words};
use super::transcript::Transcript;

/// What the captured users log in with.
pub const PASSWORD: &str = "se cret";
/// Columns of a row that are also read out of order, which costs the square of them.
const COLUMNS_MAX: usize = 32;

/// Bits of the first byte of an input.
pub mod how {
    /// A login; without it, answers.
    pub const LOGIN: u8 = 1;
    /// The first answer is to a preparation, and the others to executions; without it, to texts.
    pub const PREPARED: u8 = 2;
    /// Rows end with an OK packet, and no packet stands between columns and rows.
    pub const DEPRECATE_EOF: u8 = 4;
    /// The columns of a prepared statement are not repeated.
    pub const CACHE_METADATA: u8 = 8;
}

/// The first byte says what the client has asked ([`how`]); the rest is what a server sends.
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

/// What a client knows of its server.
pub struct Answers {
    packets: Packets,
    state: State,
}

struct State {
    stage: Stage,
    /// Those of the prepared statement, or of the last text.
    columns: Columns,
    shape: Shape,
    /// Whether rows are binary.
    is_prepared: bool,
}

/// What the next packet belongs to.
enum Stage {
    Greeting,
    Login,
    Preparation(Preparation),
    Answer(Answer),
}

impl Answers {
    /// Nothing was read yet.
    pub fn new(how: u8) -> Self {
        let shape = Shape {
            deprecate_eof: how & how::DEPRECATE_EOF != 0,
            cache_metadata: how & how::CACHE_METADATA != 0,
        };
        let is_prepared = how & how::PREPARED != 0;
        let (stage, number) = match how & how::LOGIN != 0 {
            true => (Stage::Greeting, 0),
            false if is_prepared => (Stage::Preparation(Preparation::new(shape)), 1),
            false => (Stage::Answer(Answer::new(shape)), 1),
        };
        let mut packets = Packets::default();
        packets.expect(number);
        let state = State { stage, columns: Columns::default(), shape, is_prepared };
        Self { packets, state }
    }
}

impl Reader for Answers {
    fn read(&mut self, input: &[u8], transcript: &mut Transcript) -> Step {
        let (taken, bytes) = match self.packets.next(input) {
            Ok(Next::More) => return Step::More(0),
            Ok(Next::Part { bytes }) => return Step::Took(bytes),
            Ok(Next::Packet { payload, bytes }) => (self.state.take(payload, transcript), bytes),
            Err(error) => (Err(error), 0),
        };
        self.packets.forget_parts();
        match taken {
            Ok(Due::Next) => {}
            // The client says something, which has a number too.
            Ok(Due::AfterReply) => self.packets.expect(self.packets.number().wrapping_add(1)),
            Ok(Due::Anew) => self.packets.expect(1),
            Err(error) => {
                transcript.note(error);
                return Step::Over;
            }
        }
        Step::Took(bytes)
    }
}

/// Which number the packet after this one has.
enum Due {
    Next,
    AfterReply,
    Anew,
}

impl State {
    fn take(&mut self, payload: &[u8], transcript: &mut Transcript) -> Result<Due, WireError> {
        match &mut self.stage {
            Stage::Greeting => {
                let greeting = Greeting::read(payload)?;
                let method = Method::named(&greeting.method);
                transcript.note((&greeting, method.map(|way| proof(way, &greeting.scramble))));
                self.stage = Stage::Login;
                Ok(Due::AfterReply)
            }
            Stage::Login => self.turn(payload, transcript),
            Stage::Preparation(preparation) => {
                let Some(prepared) = preparation.take(payload)? else { return Ok(Due::Next) };
                transcript.note(prepared);
                self.columns = std::mem::take(&mut preparation.columns);
                self.stage = Stage::Answer(Answer::new(self.shape));
                Ok(Due::Anew)
            }
            Stage::Answer(answer) => {
                match answer.take(payload, &mut self.columns)? {
                    Event::Nothing => return Ok(Due::Next),
                    Event::Row(row) => {
                        if self.is_prepared {
                            note_row(row, self.columns.get(), transcript)?;
                        }
                        return Ok(Due::Next);
                    }
                    Event::End(completion) => transcript.note(completion),
                    Event::Failed(error) => transcript.note(error),
                }
                self.stage = Stage::Answer(Answer::new(self.shape));
                Ok(Due::Anew)
            }
        }
    }

    fn turn(&mut self, payload: &[u8], transcript: &mut Transcript) -> Result<Due, WireError> {
        let turn = Turn::read(payload)?;
        transcript.note(&turn);
        match turn {
            Turn::Welcome => {
                self.stage = Stage::Answer(Answer::new(self.shape));
                return Ok(Due::Anew);
            }
            Turn::Switch { method, scramble } => {
                transcript.note(Method::named(method).map(|method| proof(method, scramble)));
            }
            // `caching_sha2_password` knows the password: its welcome follows.
            Turn::Data([3]) => return Ok(Due::Next),
            Turn::Data(_) => {}
        }
        Ok(Due::AfterReply)
    }
}

fn proof(method: Method, scramble: &[u8]) -> Result<Vec<u8>, String> {
    method.proof(PASSWORD, scramble, true)
}

/// Every value of a row, which are the same in whatever order they are asked for.
fn note_row(
    payload: &[u8],
    columns: &[Column],
    transcript: &mut Transcript,
) -> Result<(), WireError> {
    let row = Row::read(payload, columns)?;
    let shown = |row: &Row<'_>, column| {
        let mut seen = Transcript::hashed();
        seen.note((row.int(column), row.text(column)));
        seen.hash()
    };
    for column in 0..columns.len() {
        transcript.note((row.int(column), row.text(column)));
    }
    for column in (0..columns.len().min(COLUMNS_MAX)).rev() {
        let alone = Row::read(payload, columns)?;
        assert_eq!(shown(&row, column), shown(&alone, column), "column {column}");
    }
    Ok(())
}
