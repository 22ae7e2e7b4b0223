//! A session: prepared statements, one write per request.

use std::ops::ControlFlow;
use std::rc::Rc;

use assay_runtime::{Connection, Handle, RuntimeError};

use super::codec::{self, Message, TransactionState};
use super::login::start_tls;
use super::messages;
use super::placeholders::numbered;
use super::report::Report;
use super::rows::{Kind, Row};
use super::wrong;
use crate::pool::Pool;
use crate::sql::{self, Completion, Dialect, Statement, Type, Value};
use crate::{Target, WireError};

/// A buffer that has grown larger is given back after the request.
const OUT_BYTES_KEPT: usize = 64 * 1024;

thread_local! {
    static PREPARED: Pool<Prepared> = Pool::default();
}

/// What a session knows of a statement that it has prepared. Sessions share what is the same.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Prepared {
    parameters: Vec<Type>,
    /// What a Bind message says between the statement's name and its values, and after them.
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Its columns; empty if it returns no rows.
    pub kinds: Vec<Kind>,
}

impl Prepared {
    /// Appends Bind and Execute of the statement with this name.
    #[inline]
    pub fn request(
        &self,
        name: usize,
        out: &mut Vec<u8>,
        values: &[Value<'_>],
    ) -> Result<(), WireError> {
        messages::bind(out, name, &self.head, &self.parameters, values, &self.tail)?;
        out.extend_from_slice(&messages::EXECUTE);
        Ok(())
    }

    /// Whether values fit, without a request.
    pub fn check(&self, values: &[Value<'_>]) -> Result<(), WireError> {
        messages::check(&self.parameters, values)
    }

    /// How a request that ended with this tag ended.
    #[inline]
    pub fn completion(&self, rows: u64, tag: &[u8]) -> Completion {
        let affected = if self.kinds.is_empty() { codec::rows_of_tag(tag) } else { 0 };
        Completion { rows, affected }
    }
}

/// A session with a PostgreSQL server.
///
/// A request that is given up (its future dropped before it is ready) leaves the session of no use,
/// and so does any error but `Server`, a visitor's own, and that of a request which was refused
/// before it was sent. When the server ends the session and says why (its FATAL errors), that is a
/// broken connection with the server's words in it.
pub struct Session {
    pub(super) connection: Connection,
    pub(super) out: Vec<u8>,
    pub(super) statements: Vec<Rc<Prepared>>,
    pub(super) completions: Vec<Completion>,
    pub(super) state: TransactionState,
    /// Whether the server waits for a request, so that the next answer is the next request's.
    pub(super) is_ready: bool,
}

impl Session {
    /// Connects and logs in with whatever the server asks for: nothing, a password in the clear,
    /// MD5 or SCRAM-SHA-256. The session speaks UTF-8.
    ///
    /// # Errors
    /// `Login` when the server refuses or asks for something else, with its words.
    pub async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        let mut connection = Connection::open(handle, &target.address).await?;
        if let Some(tls) = target.encryption() {
            start_tls(&mut connection, tls).await?;
        }
        let mut session = Self {
            connection,
            out: Vec::new(),
            statements: Vec::new(),
            completions: Vec::new(),
            state: TransactionState::Idle,
            is_ready: false,
        };
        session.log_in(target).await?;
        Ok(session)
    }

    /// Where the session stands, as the server said at the end of the last request. After an error
    /// in a transaction it is `Failed`, and only ROLLBACK helps.
    pub fn transaction_state(&self) -> TransactionState {
        self.state
    }

    /// The bytes that went through.
    pub fn traffic(&self) -> assay_runtime::Traffic {
        self.connection.traffic()
    }

    /// Empties the buffer for a new request.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), WireError> {
        if !self.is_ready {
            return Err(wrong(
                "the session is of no use since an error, or since a request was given up; open a \
                 new one",
            ));
        }
        if self.out.capacity() == 0 {
            self.out = self.connection.handle().lend();
        }
        self.out.clear();
        Ok(())
    }

    /// Gives the buffer back, so that a session that waits owns none; one that has grown is kept if
    /// it is not too large.
    #[inline]
    fn put_away(&mut self) {
        if !(Handle::LENT_BYTES + 1..=OUT_BYTES_KEPT).contains(&self.out.capacity()) {
            self.connection.handle().give_back(std::mem::take(&mut self.out));
        }
    }

    /// Sends the buffer, which is the whole request.
    #[inline]
    async fn send_all(&mut self) -> Result<(), WireError> {
        self.send().await?;
        self.put_away();
        Ok(())
    }

    /// Sends the buffer.
    #[inline]
    pub(super) async fn send(&mut self) -> Result<(), WireError> {
        self.is_ready = false;
        match self.connection.send(&self.out).await {
            Ok(()) => Ok(()),
            Err(RuntimeError::Closed) => Err(self.last_words().await),
            Err(error) => Err(error.into()),
        }
    }

    /// Why the server has closed the connection, if it has said so.
    #[cold]
    pub(super) async fn last_words(&mut self) -> WireError {
        loop {
            match codec::next(self.connection.input()) {
                Err(error) => return error,
                Ok(Some((_, Message::Error(report)))) if report.is_end() => return ended(&report),
                Ok(Some((bytes, _))) => self.connection.consume(bytes),
                Ok(None) => {
                    if let Err(error) = self.connection.more().await {
                        return error.into();
                    }
                }
            }
        }
    }

    /// Ends a request: the server is ready again, unless it has stopped in between.
    #[inline]
    pub(super) fn finish(
        &mut self,
        state: Option<TransactionState>,
        error: Option<WireError>,
    ) -> Result<(), WireError> {
        if let Some(state) = state {
            self.ready(state);
        }
        error.map_or(Ok(()), Err)
    }

    /// Notes that the server waits for the next request.
    #[inline]
    pub(super) fn ready(&mut self, state: TransactionState) {
        self.state = state;
        self.is_ready = true;
        self.put_away();
    }
}

#[inline]
pub(super) fn prepared(
    statements: &[Rc<Prepared>],
    statement: Statement,
) -> Result<&Prepared, WireError> {
    let found = statements.get(statement.0).map(|found| &**found);
    found
        .ok_or_else(|| wrong(format!("statement {} was not prepared in this session", statement.0)))
}

/// The error that is left of a session which the server has ended with its own words.
#[cold]
pub(super) fn ended(report: &Report<'_>) -> WireError {
    let words = format!("the server ended the session: {}: {}", report.code(), report.message());
    RuntimeError::Broken(std::io::Error::new(std::io::ErrorKind::ConnectionAborted, words)).into()
}

/// Gives the messages of an answer to `on`, but for what may come at any time, until it says that
/// this is enough or the server is ready for the next request; the state then. `error` gets the
/// first error that the server reports.
///
/// # Errors
/// What `on` returns; and when the connection fails or the server ends the session.
#[inline]
pub(super) async fn receive(
    connection: &mut Connection,
    error: &mut Option<WireError>,
    mut on: impl FnMut(Message<'_>) -> Result<ControlFlow<()>, WireError>,
) -> Result<Option<TransactionState>, WireError> {
    loop {
        let input = connection.input();
        let mut used = 0;
        while let Some((bytes, message)) = codec::next(&input[used..])? {
            used += bytes;
            let flow = match message {
                Message::ReadyForQuery(state) => {
                    connection.consume(used);
                    return Ok(Some(state));
                }
                Message::Notice(_)
                | Message::ParameterStatus { .. }
                | Message::Notification { .. } => continue,
                Message::Error(report) => {
                    if report.is_end() {
                        return Err(ended(&report));
                    }
                    error.get_or_insert_with(|| report.error());
                    on(message)?
                }
                message => on(message)?,
            };
            if flow.is_break() {
                connection.consume(used);
                return Ok(None);
            }
        }
        connection.consume(used);
        connection.more().await?;
    }
}

#[cold]
pub(super) fn unexpected(message: &Message<'_>, request: &str) -> WireError {
    // Not the whole of it: it may be large, and may hold data.
    let debug = format!("{message:?}");
    let name: String = debug.chars().take_while(|letter| letter.is_alphanumeric()).collect();
    wrong(format!("a {name} message in answer to {request}"))
}

impl sql::Session for Session {
    const DIALECT: Dialect = Dialect::Postgres;

    type Row<'r> = Row<'r>;

    /// An integer is `bigint` to the server: where it wants another type, and it is no assignment,
    /// write a cast. The comparison of an `integer` column with it uses the column's index.
    async fn prepare(&mut self, text: &str, parameters: &[Type]) -> Result<Statement, WireError> {
        self.begin()?;
        let (numbered, count) = numbered(text);
        if count != parameters.len() {
            let types = parameters.len();
            return Err(wrong(format!("{count} placeholders and {types} types: {text}")));
        }
        let name = self.statements.len().to_string();
        messages::parse(&mut self.out, &name, &numbered, parameters)?;
        messages::describe(&mut self.out, &name)?;
        self.out.extend_from_slice(&messages::SYNC);
        self.send_all().await?;
        let (mut kinds, mut error) = (Vec::new(), None);
        let state = receive(&mut self.connection, &mut error, |message| {
            match message {
                Message::RowDescription(description) => {
                    kinds.extend(description.columns().map(|column| Kind::of(column.type_oid)));
                }
                Message::ParseComplete
                | Message::ParameterDescription(_)
                | Message::NoData
                | Message::Error(_) => {}
                other => return Err(unexpected(&other, "Parse and Describe")),
            }
            Ok(ControlFlow::Continue(()))
        });
        let state = state.await?;
        self.finish(state, error)?;
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        messages::bind_head(&mut head, parameters)?;
        messages::formats_of(&mut tail, kinds.iter().map(|kind| kind.format()));
        let prepared = Prepared { parameters: parameters.to_vec(), head, tail, kinds };
        self.statements.push(PREPARED.with(|pool| pool.share(prepared)));
        Ok(Statement(self.statements.len() - 1))
    }

    async fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), WireError>,
    ) -> Result<Completion, WireError> {
        self.begin()?;
        prepared(&self.statements, statement)?.request(statement.0, &mut self.out, values)?;
        self.out.extend_from_slice(&messages::SYNC);
        self.send_all().await?;
        let prepared = prepared(&self.statements, statement)?;
        let (mut error, mut visit_error) = (None, None);
        let (mut rows, mut completion) = (0, None);
        let state = receive(&mut self.connection, &mut error, |message| {
            match message {
                Message::DataRow(fields) => {
                    let row = Row::new(fields, &prepared.kinds)?;
                    rows += 1;
                    // After the visitor's own error the other rows are passed over.
                    if visit_error.is_none() {
                        visit_error = visit(&row).err();
                    }
                }
                Message::CommandComplete { tag } => {
                    completion = Some(prepared.completion(rows, tag));
                }
                Message::EmptyQuery => completion = Some(Completion::default()),
                Message::BindComplete | Message::Error(_) => {}
                other => return Err(unexpected(&other, "Execute")),
            }
            Ok(ControlFlow::Continue(()))
        });
        let state = state.await?;
        self.finish(state, error.or(visit_error))?;
        completion.ok_or_else(|| wrong("an answer without a completion"))
    }

    async fn batch(&mut self, text: &str) -> Result<Completion, WireError> {
        self.begin()?;
        messages::query(&mut self.out, text)?;
        self.send_all().await?;
        self.finish_batch().await
    }

    async fn close(mut self) {
        // One that is lost cannot hear it.
        if self.is_ready {
            let _ = self.connection.send(&messages::TERMINATE).await;
        }
    }
}
