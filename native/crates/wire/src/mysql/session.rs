//! A session: one connection to a server, one request or one pipeline at a time.

use assay_runtime::{Connection, Handle, Traffic};

use super::answer::{Answer, Event, Preparation, Shape};
use super::codec::Packets;
use super::login::{Entrance, log_in, receive};
use super::packets::{Done, Greeting, server_error};
use super::protocol;
use super::rows::{Columns, Row};
use super::values::{
    Parameters, put_close, put_execute, put_ping, put_prepare, put_query, put_quit,
};
use crate::sql::{self, Completion, Dialect, Statement, Type, Value};
use crate::{Target, WireError};

/// Memory for output that is kept for the next request.
const KEPT_BYTES: usize = 1 << 20;
/// What is used where the server offers it. Both save bytes and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Rows end with an OK packet, and no packet stands between columns and rows.
    pub deprecate_eof: bool,
    /// `MariaDB` leaves out the columns of a prepared statement that are known.
    pub cache_metadata: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { deprecate_eof: true, cache_metadata: true }
    }
}

/// A statement that the server has prepared.
pub(super) struct Known {
    id: u32,
    pub parameters: Parameters,
    columns: Columns,
}

/// A session with a server of `MySQL` or `MariaDB`.
///
/// A request that was given up before its end (its future dropped) leaves an answer behind that
/// nobody can tell from the next one: the session then refuses everything.
pub struct Session {
    pub(super) connection: Connection,
    pub(super) packets: Packets,
    pub(super) out: Vec<u8>,
    pub(super) statements: Vec<Known>,
    /// Columns of texts, which nobody reads.
    pub(super) unread: Columns,
    /// What a pipeline has sent: whose answer begins with which number.
    pub(super) sent: Vec<(usize, u8)>,
    greeting: Greeting,
    pub(super) shape: Shape,
    /// Whether an answer may lie in the connection that was not read.
    pub(super) is_astray: bool,
}

/// How a request ended, when the session goes on whatever that was.
pub(super) type Outcome<T> = Result<Result<T, WireError>, WireError>;

impl Session {
    /// Connects and logs in. A password that is none is sent as an empty one.
    ///
    /// # Errors
    /// `Runtime` when nobody listens or the server closes; `Login` when it refuses the user or wants
    /// an authentication that is not built in; `Server` for its other errors, such as an unknown
    /// database; `Protocol` when it is no such server.
    pub async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        Self::open_with(handle, target, Features::default()).await
    }

    /// The same, without some features.
    ///
    /// # Errors
    /// As of [`Session::open`].
    pub async fn open_with(
        handle: &Handle,
        target: &Target,
        features: Features,
    ) -> Result<Self, WireError> {
        let mut connection = Connection::open(handle, &target.address).await?;
        let mut packets = Packets::default();
        let Entrance { greeting, shape } =
            log_in(&mut connection, &mut packets, target, features).await?;
        Ok(Self {
            connection,
            packets,
            out: Vec::new(),
            statements: Vec::new(),
            unread: Columns::default(),
            sent: Vec::new(),
            greeting,
            shape,
            is_astray: false,
        })
    }

    /// The server's version, as it writes it.
    pub fn version(&self) -> &str {
        &self.greeting.version
    }

    /// The server's number of this connection, as in `KILL`.
    pub fn number(&self) -> u32 {
        self.greeting.connection
    }

    /// What is in use of what could be.
    pub fn features(&self) -> Features {
        let Shape { deprecate_eof, cache_metadata } = self.shape;
        Features { deprecate_eof, cache_metadata }
    }

    /// How many bytes went through.
    pub fn traffic(&self) -> Traffic {
        self.connection.traffic()
    }

    /// Asks whether the server is there.
    ///
    /// # Errors
    /// When it is not.
    pub async fn ping(&mut self) -> Result<(), WireError> {
        self.begin()?;
        let due = put_ping(&mut self.out);
        self.packets.expect(due);
        self.send().await?;
        let outcome = receive(&mut self.connection, &mut self.packets, |payload| match payload {
            [0, ..] => Done::read(payload).map(|_| Some(Ok(()))),
            [0xFF, ..] => Ok(Some(Err(server_error(payload)))),
            _ => Err(protocol("a ping is not answered by OK")),
        });
        let outcome = outcome.await;
        self.settle(outcome)
    }

    /// Frees what the server keeps for a statement. Nothing is waited for; using the statement
    /// again is an error of the server.
    ///
    /// # Errors
    /// When the connection has failed, or there is no such statement.
    pub async fn forget(&mut self, statement: Statement) -> Result<(), WireError> {
        self.begin()?;
        let Some(known) = self.statements.get_mut(statement.0) else {
            return Err(unknown(statement));
        };
        put_close(&mut self.out, known.id);
        known.parameters.tell_again();
        self.send().await?;
        self.is_astray = false;
        Ok(())
    }

    /// Makes ready for a request.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), WireError> {
        if self.is_astray {
            return Err(protocol(
                "an earlier request of this session was not read to its end; open another one",
            ));
        }
        if self.out.capacity() == 0 {
            self.out = self.connection.handle().lend();
        }
        self.out.clear();
        Ok(())
    }

    /// Adds an execution to the output; the number of its answer.
    #[inline]
    pub(super) fn put(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u8, WireError> {
        let Some(known) = self.statements.get_mut(statement.0) else {
            return Err(unknown(statement));
        };
        put_execute(&mut self.out, known.id, &mut known.parameters, values)
    }

    /// Sends the output.
    #[inline]
    pub(super) async fn send(&mut self) -> Result<(), WireError> {
        let sent = self.send_first(self.out.len()).await;
        self.trim();
        sent
    }

    /// Gives the buffer back, so that a session that waits owns none; one that has grown is kept if
    /// it is not too large.
    #[inline]
    pub(super) fn trim(&mut self) {
        if !(Handle::LENT_BYTES + 1..=KEPT_BYTES).contains(&self.out.capacity()) {
            self.connection.handle().give_back(std::mem::take(&mut self.out));
        }
    }

    #[inline]
    pub(super) async fn send_first(&mut self, bytes: usize) -> Result<(), WireError> {
        self.is_astray = true;
        let sent = self.connection.send(&self.out[..bytes]).await;
        // Of a connection that has failed later requests are told the same.
        sent.inspect_err(|_| self.is_astray = false).map_err(Into::into)
    }

    /// Reads the answer to the execution of a statement.
    #[inline]
    pub(super) async fn answer(
        &mut self,
        statement: usize,
        visit: &mut impl FnMut(&Row<'_>) -> Result<(), WireError>,
    ) -> Outcome<Completion> {
        let Self { connection, packets, statements, shape, .. } = self;
        let known = &mut statements[statement];
        let (mut answer, mut refused) = (Answer::new(*shape), None);
        let outcome = receive(connection, packets, |payload| {
            Ok(match answer.take(payload, &mut known.columns)? {
                Event::Nothing => None,
                Event::Row(payload) => {
                    let row = Row::read(payload, known.columns.get())?;
                    if refused.is_none() {
                        refused = visit(&row).err();
                    }
                    None
                }
                Event::End(completion) => Some(Ok(completion)),
                Event::Failed(error) => Some(Err(error)),
            })
        })
        .await?;
        if outcome.is_err() {
            known.parameters.tell_again();
        }
        Ok(match refused {
            Some(error) => outcome.and(Err(error)),
            None => outcome,
        })
    }

    /// What is left of an outcome when the session is over with it.
    #[inline]
    pub(super) fn settle<T>(&mut self, outcome: Outcome<T>) -> Result<T, WireError> {
        self.is_astray = false;
        self.fate(outcome)?
    }

    /// Marks a session whose server has broken the protocol: nobody knows what comes next.
    #[inline]
    pub(super) fn fate<T>(&mut self, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(error) = &outcome {
            self.is_astray = matches!(error, WireError::Protocol { .. });
        }
        outcome
    }
}

fn unknown(statement: Statement) -> WireError {
    protocol(format!("statement {} was not prepared in this session", statement.0))
}

impl sql::Session for Session {
    const DIALECT: Dialect = Dialect::MySql;

    type Row<'r> = Row<'r>;

    async fn prepare(&mut self, text: &str, parameters: &[Type]) -> Result<Statement, WireError> {
        self.begin()?;
        let due = put_prepare(&mut self.out, text);
        self.packets.expect(due);
        self.send().await?;
        let mut preparation = Preparation::new(self.shape);
        let outcome =
            receive(&mut self.connection, &mut self.packets, |payload| preparation.take(payload));
        let outcome = outcome.await;
        let prepared = self.settle(outcome)?;
        let (wanted, told) = (usize::from(prepared.parameters), parameters.len());
        let columns = preparation.columns.shared();
        self.statements.push(Known {
            id: prepared.id,
            parameters: Parameters::new(parameters),
            columns,
        });
        let statement = Statement(self.statements.len() - 1);
        if wanted != told {
            self.forget(statement).await?;
            return Err(protocol(format!("{told} types for the {wanted} parameters of {text:?}")));
        }
        Ok(statement)
    }

    /// Sends one packet and reads until its answer ends. When `visit` fails the rest of the answer
    /// is read without it, and the session goes on.
    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Self::Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.begin()?;
        let due = self.put(statement, values)?;
        self.packets.expect(due);
        self.send().await?;
        let outcome = self.answer(statement.0, &mut visit).await;
        self.settle(outcome)
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.begin()?;
        let due = put_query(&mut self.out, text);
        self.packets.expect(due);
        self.send().await?;
        let Self { connection, packets, unread, shape, .. } = self;
        let mut answer = Answer::new(*shape);
        let outcome = receive(connection, packets, |payload| {
            Ok(match answer.take(payload, unread)? {
                Event::Nothing | Event::Row(_) => None,
                Event::End(completion) => Some(Ok(completion)),
                Event::Failed(error) => Some(Err(error)),
            })
        });
        let outcome = outcome.await;
        self.settle(outcome)
    }

    async fn close(mut self) {
        if self.begin().is_ok() {
            put_quit(&mut self.out);
            // Whoever says goodbye does not mind if nobody hears it.
            let _ = self.send().await;
        }
    }
}
