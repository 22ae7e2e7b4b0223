//! A stand-in that speaks PostgreSQL's protocol.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use assay_runtime::{Handle, Listener, RuntimeError};
use assay_wire::WireError;
use assay_wire::answers::{Answers, Command, STAND_IN, Shape};
use assay_wire::postgres::TransactionState;
use assay_wire::postgres::messages::oid;
use assay_wire::postgres::server::replies;
use assay_wire::postgres::server::requests::{
    self, Bind, Formats, Request, Startup, parameter_types,
};
use assay_wire::sql::Value;

use super::basics::WithBasics;
use super::unknown;
use crate::serve::{self, Answered, Service, Then, has_room};

const VERSION: &str = "15.0 (assay stand-in)";
const SETTINGS: [(&str, &str); 6] = [
    ("server_version", VERSION),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("DateStyle", "ISO, MDY"),
];

const NOT_KNOWN: &str = "0A000";
const WRONG_REQUEST: &str = "08P01";
const NO_STATEMENT: &str = "26000";
const NO_PORTAL: &str = "34000";
const FAILED: &str = "25P02";

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

/// An error after which the session goes on: its code and its words.
type Refusal = (&'static str, String);

/// A statement that a client has prepared.
struct Prepared {
    statement: usize,
    /// Types of its parameters, by object identifier.
    types: Rc<[u32]>,
}

/// The unnamed portal: an answer that waits to be asked for.
#[derive(Default)]
struct Portal {
    statement: usize,
    rows: Vec<u8>,
    count: u64,
}

/// One client's session.
struct Terminal<A> {
    answers: Rc<WithBasics<A>>,
    connection: u32,
    is_in: bool,
    prepared: HashMap<Box<[u8]>, Prepared>,
    portal: Option<Portal>,
    state: TransactionState,
    /// Whether requests are passed over until the next Sync: one before it has failed.
    is_skipping: bool,
}

impl<A: Answers> Terminal<A> {
    fn new(answers: Rc<WithBasics<A>>, connection: u32) -> Self {
        Self {
            answers,
            connection,
            is_in: false,
            prepared: HashMap::new(),
            portal: None,
            state: TransactionState::Idle,
            is_skipping: false,
        }
    }

    /// Answers the first message of the input; its bytes, if it is there.
    fn take(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Then)>, WireError> {
        if !self.is_in {
            let Some((bytes, startup)) = requests::startup(input)? else { return Ok(None) };
            match startup {
                Startup::Session(_) => self.let_in(out),
                Startup::Encryption => out.push(replies::NO_ENCRYPTION),
                Startup::Cancel => return Ok(Some((bytes, Then::Close))),
            }
            return Ok(Some((bytes, Then::GoOn)));
        }
        let Some((bytes, request)) = requests::next(input)? else { return Ok(None) };
        let then = match request {
            Request::Terminate => Then::Close,
            Request::Sync => {
                self.is_skipping = false;
                replies::ready(out, self.state);
                Then::GoOn
            }
            Request::Query(text) => {
                let asked = self.query(text, out);
                self.settle(asked, out);
                self.is_skipping = false;
                replies::ready(out, self.state);
                Then::GoOn
            }
            _ if self.is_skipping => Then::GoOn,
            request => {
                let asked = self.extended(request, &input[..bytes], out);
                self.is_skipping = self.settle(asked, out);
                Then::GoOn
            }
        };
        Ok(Some((bytes, then)))
    }

    /// Writes what was refused; whether anything was.
    fn settle(&mut self, asked: Result<(), Refusal>, out: &mut Vec<u8>) -> bool {
        let Err((code, words)) = asked else { return false };
        replies::error(out, false, code, &words);
        if self.state == TransactionState::InTransaction {
            self.state = TransactionState::Failed;
        }
        true
    }

    fn let_in(&mut self, out: &mut Vec<u8>) {
        self.is_in = true;
        replies::authenticated(out);
        SETTINGS.iter().for_each(|(name, value)| replies::parameter_status(out, name, value));
        replies::backend_key(out, self.connection, 0);
        replies::ready(out, self.state);
    }

    fn query(&mut self, text: &str, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if text.trim().is_empty() {
            out.extend_from_slice(&replies::EMPTY_QUERY);
            return Ok(());
        }
        let found = self.answers.find(text);
        let found = found.filter(|it| self.answers.shape(*it).parameters == 0);
        let statement = found.ok_or_else(|| (NOT_KNOWN, unknown(text)))?;
        let formats = Formats::default();
        let columns = &self.answers.shape(statement).columns;
        if !columns.is_empty() {
            replies::row_description(out, columns, formats);
        }
        let portal = self.run(statement, &[], formats)?;
        self.execute(portal, out);
        Ok(())
    }

    /// A request that ends with a Sync.
    fn extended(
        &mut self,
        request: Request<'_>,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match request {
            Request::Parse { name, text } => {
                let found = self.answers.find(text);
                let statement = found.ok_or_else(|| (NOT_KNOWN, unknown(text)))?;
                let types = parameter_types(message).map_err(wrong)?;
                self.prepared.insert(name.into(), Prepared { statement, types: types.into() });
                out.extend_from_slice(&replies::PARSE_COMPLETE);
            }
            Request::Bind(bind) => {
                self.portal = Some(self.bind(&bind)?);
                out.extend_from_slice(&replies::BIND_COMPLETE);
            }
            Request::Describe { kind, name } => self.describe(kind, name, out)?,
            Request::Execute { portal: b"", rows: 0 } => {
                let portal = self.portal.take();
                let portal = portal.ok_or_else(|| (NO_PORTAL, "nothing was bound".to_owned()))?;
                self.execute(portal, out);
            }
            Request::Execute { .. } => {
                let what = "portals with a name and limits of rows";
                return Err((NOT_KNOWN, unknown(what)));
            }
            Request::Close { kind, name } => {
                match kind {
                    b'S' => drop(self.prepared.remove(name)),
                    _ => self.portal = None,
                }
                out.extend_from_slice(&replies::CLOSE_COMPLETE);
            }
            Request::Other(kind) => {
                let what = format!("request of type '{}'", char::from(kind).escape_default());
                return Err((NOT_KNOWN, unknown(&what)));
            }
            // The others are taken before.
            Request::Flush | Request::Query(_) | Request::Sync | Request::Terminate => {}
        }
        Ok(())
    }

    fn known(&self, name: &[u8]) -> Result<&Prepared, Refusal> {
        let shown = || format!("statement {:?} was not prepared", String::from_utf8_lossy(name));
        self.prepared.get(name).ok_or_else(|| (NO_STATEMENT, shown()))
    }

    fn describe(&self, kind: u8, name: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let statement = if kind == b'S' {
            let Prepared { statement, types } = self.known(name)?;
            let count = self.answers.shape(*statement).parameters;
            let told = types.iter().copied().chain(std::iter::repeat(oid::TEXT));
            replies::parameter_description(out, &told.take(count).collect::<Vec<_>>());
            *statement
        } else {
            let portal = self.portal.as_ref();
            portal.ok_or_else(|| (NO_PORTAL, "nothing was bound".to_owned()))?.statement
        };
        let Shape { columns, .. } = self.answers.shape(statement);
        if columns.is_empty() {
            out.extend_from_slice(&replies::NO_DATA);
        } else {
            replies::row_description(out, columns, Formats::default());
        }
        Ok(())
    }

    fn bind(&self, bind: &Bind<'_>) -> Result<Portal, Refusal> {
        let Prepared { statement, types } = self.known(bind.statement)?;
        let mut values = Vec::new();
        bind.values(types, &mut values).map_err(wrong)?;
        let wanted = self.answers.shape(*statement).parameters;
        if values.len() != wanted {
            let given = values.len();
            return Err((WRONG_REQUEST, format!("{given} values for {wanted} parameters")));
        }
        self.run(*statement, &values, bind.results)
    }

    /// Writes the rows of an answer.
    fn run(
        &self,
        statement: usize,
        values: &[Value<'_>],
        formats: Formats<'_>,
    ) -> Result<Portal, Refusal> {
        let Shape { columns, command, .. } = self.answers.shape(statement);
        let is_end = matches!(command, Command::Commit | Command::Rollback);
        if self.state == TransactionState::Failed && !is_end {
            let words = "the transaction has failed: only ROLLBACK is taken".to_owned();
            return Err((FAILED, words));
        }
        let mut portal = Portal { statement, ..Portal::default() };
        let (rows, count) = (&mut portal.rows, &mut portal.count);
        let changed = self.answers.answer(statement, values, &mut |row| {
            replies::data_row(rows, columns, formats, row);
            *count += 1;
        });
        if columns.is_empty() {
            portal.count = changed;
        }
        Ok(portal)
    }

    fn execute(&mut self, portal: Portal, out: &mut Vec<u8>) {
        let mut command = self.answers.shape(portal.statement).command;
        match command {
            Command::Begin => self.state = TransactionState::InTransaction,
            Command::Commit if self.state == TransactionState::Failed => {
                (self.state, command) = (TransactionState::Idle, Command::Rollback);
            }
            Command::Commit | Command::Rollback => self.state = TransactionState::Idle,
            _ => {}
        }
        out.extend_from_slice(&portal.rows);
        replies::command_complete(out, command, portal.count);
    }
}

fn wrong(error: WireError) -> Refusal {
    (WRONG_REQUEST, error.to_string())
}

impl<A: Answers> Service for Terminal<A> {
    fn answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Answered {
        let mut at = 0;
        while has_room(out) {
            match self.take(&input[at..], out) {
                Ok(None) => return Answered { bytes: at, then: Then::Read },
                Ok(Some((bytes, then))) => {
                    at += bytes;
                    if then == Then::Close {
                        return Answered { bytes: at, then };
                    }
                }
                Err(error) => {
                    replies::error(out, true, WRONG_REQUEST, &format!("{STAND_IN}: {error}"));
                    return Answered { bytes: at, then: Then::Close };
                }
            }
        }
        Answered { bytes: at, then: Then::GoOn }
    }
}
