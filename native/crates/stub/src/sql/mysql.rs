//! A stand-in that speaks MySQL's protocol, as MariaDB does.

use std::cell::Cell;
use std::rc::Rc;

use assay_runtime::{Handle, Listener, RuntimeError};
use assay_wire::WireError;
use assay_wire::answers::{Answers, Shape};
use assay_wire::mysql::answer::Shape as Agreed;
use assay_wire::mysql::codec::{Next, Packets};
use assay_wire::mysql::server::packets::{self, Format, OFFERED};
use assay_wire::mysql::server::requests::{Bound, LoginRequest, Request};
use assay_wire::sql::Value;

use super::basics::WithBasics;
use super::unknown;
use crate::serve::{self, Answered, Service, Then, has_room};

/// It calls itself a MariaDB, whose statements it knows, and what it is.
const VERSION: &str = "10.11.0-MariaDB-assay-stand-in";
/// Clients take this off, which is how MariaDB tells old ones a version that they understand.
const VERSION_PREFIX: &str = "5.5.5-";

/// An error's number and SQL state.
type Code = (u16, [u8; 5]);

const NOT_KNOWN: Code = (1235, *b"42000");
const WRONG_REQUEST: Code = (1047, *b"08S01");
const NO_STATEMENT: Code = (1243, *b"HY000");

/// Serves until the worker stops, or no more connections can be accepted.
pub async fn serve(handle: Handle, listener: Listener, answers: impl Answers) -> RuntimeError {
    let answers = Rc::new(WithBasics::new(answers, VERSION));
    let connections = Cell::new(0);
    let service = || {
        connections.set(connections.get() + 1);
        Terminal::new(Rc::clone(&answers), connections.get())
    };
    serve::accept(handle, listener, service, None).await
}

/// A statement that a client has prepared.
struct Prepared {
    statement: usize,
    bound: Bound,
}

/// One client's session.
struct Terminal<A> {
    answers: Rc<WithBasics<A>>,
    connection: u32,
    /// What was agreed on at the login; none before.
    agreed: Option<Agreed>,
    /// By number, from 1 on; none when it was closed.
    prepared: Vec<Option<Prepared>>,
}

impl<A: Answers> Terminal<A> {
    fn new(answers: Rc<WithBasics<A>>, connection: u32) -> Self {
        Self { answers, connection, agreed: None, prepared: Vec::new() }
    }

    /// Answers one packet.
    fn take(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<Then, WireError> {
        let Some(agreed) = self.agreed else {
            let login = LoginRequest::read(payload)?;
            self.agreed = Some(packets::agreed(login.capabilities));
            packets::put_ok(out, 2, 0);
            return Ok(Then::GoOn);
        };
        match Request::read(payload)? {
            Request::Quit => return Ok(Then::Close),
            Request::Ping | Request::Database => _ = packets::put_ok(out, 1, 0),
            Request::Query(text) => self.query(text, agreed, out),
            Request::Prepare(text) => self.prepare(text, agreed, out),
            Request::Execute { id, values } => self.execute(id, values, agreed, out)?,
            Request::Close(id) => {
                if let Some(place) = place(id).and_then(|place| self.prepared.get_mut(place)) {
                    *place = None;
                }
            }
            Request::Other(kind) => {
                let words = unknown(&format!("request of kind {kind:#04x}"));
                fail(out, NOT_KNOWN, &words);
            }
        }
        Ok(Then::GoOn)
    }

    fn query(&self, text: &str, agreed: Agreed, out: &mut Vec<u8>) {
        match self.answers.find(text) {
            Some(statement) if self.answers.shape(statement).parameters == 0 => {
                self.reply(statement, &[], Format::Text, agreed, out);
            }
            _ => fail(out, NOT_KNOWN, &unknown(text)),
        }
    }

    fn prepare(&mut self, text: &str, agreed: Agreed, out: &mut Vec<u8>) {
        let Some(statement) = self.answers.find(text) else {
            return fail(out, NOT_KNOWN, &unknown(text));
        };
        self.prepared.push(Some(Prepared { statement, bound: Bound::default() }));
        let Shape { parameters, columns, .. } = self.answers.shape(statement);
        let id = self.prepared.len() as u32;
        packets::put_prepared(out, agreed, id, *parameters, columns);
    }

    fn execute(
        &mut self,
        id: u32,
        payload: &[u8],
        agreed: Agreed,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let known = place(id).and_then(|place| self.prepared.get_mut(place)?.as_mut());
        let Some(Prepared { statement, bound }) = known else {
            fail(out, NO_STATEMENT, &format!("statement {id} was not prepared"));
            return Ok(());
        };
        let (statement, mut values) = (*statement, Vec::new());
        bound.read(payload, self.answers.shape(statement).parameters, &mut values)?;
        self.reply(statement, &values, Format::Binary, agreed, out);
        Ok(())
    }

    fn reply(
        &self,
        statement: usize,
        values: &[Value<'_>],
        format: Format,
        agreed: Agreed,
        out: &mut Vec<u8>,
    ) {
        let columns = &self.answers.shape(statement).columns;
        if columns.is_empty() {
            let changed = self.answers.answer(statement, values, &mut |_| ());
            packets::put_ok(out, 1, changed);
            return;
        }
        let mut number = packets::put_columns(out, 1, agreed, format, columns);
        self.answers.answer(statement, values, &mut |row| {
            number = packets::put_row(out, number, format, columns, row);
        });
        packets::put_end(out, number, agreed);
    }
}

/// Where a statement is, by its number.
fn place(id: u32) -> Option<usize> {
    usize::try_from(id).ok()?.checked_sub(1)
}

fn fail(out: &mut Vec<u8>, (code, state): Code, words: &str) {
    packets::put_error(out, 1, code, state, words);
}

impl<A: Answers> Service for Terminal<A> {
    fn greet(&mut self, out: &mut Vec<u8>) {
        // Everybody is let in, so that nothing depends on these bytes. None is zero.
        let scramble = [b's'; 20];
        let version = format!("{VERSION_PREFIX}{VERSION}");
        packets::put_greeting(out, &version, self.connection, OFFERED, scramble);
    }

    fn answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Answered {
        let mut at = 0;
        while has_room(out) {
            // Requests begin a count of their own; the login goes on with that of the greeting.
            let mut packets = Packets::default();
            packets.expect(u8::from(self.agreed.is_none()));
            let taken = match packets.next(&input[at..]) {
                Ok(Next::More) => return Answered { bytes: at, then: Then::Read },
                Ok(Next::Packet { payload, bytes }) => {
                    at += bytes;
                    self.take(payload, out)
                }
                Ok(Next::Part { .. }) => {
                    fail(out, WRONG_REQUEST, "a request of over 16 MiB");
                    Ok(Then::Close)
                }
                Err(error) => Err(error),
            };
            match taken {
                Ok(Then::Close) => return Answered { bytes: at, then: Then::Close },
                Ok(_) => {}
                Err(error) => {
                    fail(out, WRONG_REQUEST, &error.to_string());
                    return Answered { bytes: at, then: Then::Close };
                }
            }
        }
        Answered { bytes: at, then: Then::GoOn }
    }
}
