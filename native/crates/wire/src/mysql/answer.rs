//! Which packet follows which in an answer.

use super::bytes::{Bytes, whole};
use super::packets::{Done, Prepared, is_eof, server_error};
use super::protocol;
use super::rows::Columns;
use crate::WireError;
use crate::sql::Completion;

/// What was agreed on at the login and shapes an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows end with an OK packet, and no EOF stands between columns and rows.
    pub deprecate_eof: bool,
    /// A statement's columns may be left out.
    pub cache_metadata: bool,
}

/// What a packet of an answer was.
#[derive(Debug)]
pub enum Event<'p> {
    /// Nothing that anybody waits for.
    Nothing,
    /// A row.
    Row(&'p [u8]),
    /// The end of the answer.
    End(Completion),
    /// The end of the answer, by an error of the server.
    Failed(WireError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A result begins.
    Start,
    /// So many definitions are to come.
    Columns(u64),
    /// The EOF between columns and rows.
    Between,
    /// Rows, or their end.
    Rows,
}

/// Reads the answer to one execution or text.
#[derive(Debug)]
pub struct Answer {
    shape: Shape,
    state: State,
    completion: Completion,
}

impl Answer {
    /// An answer of which nothing has come yet.
    #[inline]
    pub fn new(shape: Shape) -> Self {
        Self { shape, state: State::Start, completion: Completion::default() }
    }

    /// Takes the next packet. `columns` are those of the statement; they are replaced when the
    /// server defines them anew. After `End` or `Failed` the answer is over.
    ///
    /// # Errors
    /// `Protocol` when a packet is not what may come here.
    #[inline]
    pub fn take<'p>(
        &mut self,
        payload: &'p [u8],
        columns: &mut Columns,
    ) -> Result<Event<'p>, WireError> {
        let Some(&kind) = payload.first() else {
            return Err(protocol("an empty packet in an answer"));
        };
        if kind == 0xFF {
            return match server_error(payload) {
                error @ WireError::Server { .. } => Ok(Event::Failed(error)),
                error => Err(error),
            };
        }
        match self.state {
            State::Rows if kind != 0xFE || payload.len() >= 0xFF_FFFF => {
                self.completion.rows += 1;
                return Ok(Event::Row(payload));
            }
            State::Rows if self.shape.deprecate_eof => return Ok(self.done(Done::read(payload)?)),
            State::Rows if is_eof(payload) => return Ok(self.done(Done::read_eof(payload)?)),
            State::Rows => {
                self.completion.rows += 1;
                return Ok(Event::Row(payload));
            }
            State::Start if kind == 0 => return Ok(self.done(Done::read(payload)?)),
            State::Start => self.start(payload, columns)?,
            State::Columns(left) => {
                columns.push(payload)?;
                self.state = if left > 1 { State::Columns(left - 1) } else { self.after_columns() };
            }
            State::Between if is_eof(payload) => self.state = State::Rows,
            State::Between => return Err(protocol("no EOF between columns and rows")),
        }
        Ok(Event::Nothing)
    }

    /// The number of columns, and whether their definitions follow.
    #[inline]
    fn start(&mut self, payload: &[u8], columns: &mut Columns) -> Result<(), WireError> {
        if payload[0] == 0xFB {
            return Err(protocol("the server asks for a file, which was not allowed"));
        }
        let mut bytes = Bytes(payload);
        let count = whole(bytes.length(), "a number of columns")?;
        let is_told = !self.shape.cache_metadata || whole(bytes.u8(), "a number of columns")? != 0;
        if !bytes.0.is_empty() || count == 0 {
            return Err(protocol("a result begins with no number of columns"));
        }
        if is_told {
            columns.clear();
            self.state = State::Columns(count);
        } else if columns.get().len() as u64 == count {
            self.state = self.after_columns();
        } else {
            let known = columns.get().len();
            return Err(protocol(format!(
                "{count} columns without definitions; {known} are known"
            )));
        }
        Ok(())
    }

    #[inline]
    fn after_columns(&self) -> State {
        if self.shape.deprecate_eof { State::Rows } else { State::Between }
    }

    #[inline]
    fn done<'p>(&mut self, done: Done) -> Event<'p> {
        // A server may claim any number of each of its results.
        self.completion.affected = self.completion.affected.saturating_add(done.affected);
        if done.has_more {
            self.state = State::Start;
            return Event::Nothing;
        }
        Event::End(self.completion)
    }
}

/// Reads the answer to a preparation.
#[derive(Debug)]
pub struct Preparation {
    shape: Shape,
    head: Option<Prepared>,
    /// Packets after the first that have come.
    taken: usize,
    /// The columns of the statement's rows.
    pub columns: Columns,
}

impl Preparation {
    /// An answer of which nothing has come yet.
    pub fn new(shape: Shape) -> Self {
        Self { shape, head: None, taken: 0, columns: Columns::default() }
    }

    /// Takes the next packet. What the server has prepared, or its error, once all has come.
    ///
    /// # Errors
    /// `Protocol` when a packet is not what may come here.
    #[allow(clippy::type_complexity)] // An error of the server is an answer, and not one of ours.
    pub fn take(
        &mut self,
        payload: &[u8],
    ) -> Result<Option<Result<Prepared, WireError>>, WireError> {
        if payload.first() == Some(&0xFF) {
            return match server_error(payload) {
                error @ WireError::Server { .. } => Ok(Some(Err(error))),
                error => Err(error),
            };
        }
        let head = match self.head {
            Some(head) => {
                self.definition(head, payload)?;
                head
            }
            None => *self.head.insert(Prepared::read(payload)?),
        };
        let (parameters, columns) = self.packets(head);
        Ok((self.taken == parameters + columns).then_some(Ok(head)))
    }

    /// How many packets tell of the parameters, and of the columns: an EOF ends each, if there are
    /// any and if it is used at all.
    fn packets(&self, head: Prepared) -> (usize, usize) {
        let with_end =
            |count: u16| usize::from(count) + usize::from(count > 0 && !self.shape.deprecate_eof);
        (with_end(head.parameters), with_end(head.columns))
    }

    fn definition(&mut self, head: Prepared, payload: &[u8]) -> Result<(), WireError> {
        let (before, _) = self.packets(head);
        let place = self.taken;
        self.taken += 1;
        if place < before {
            if place == usize::from(head.parameters) && !is_eof(payload) {
                return Err(protocol("no EOF after the parameters of a statement"));
            }
            return Ok(());
        }
        if place < before + usize::from(head.columns) {
            return self.columns.push(payload);
        }
        if is_eof(payload) { Ok(()) } else { Err(protocol("no EOF after the columns")) }
    }
}
