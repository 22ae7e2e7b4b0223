//! Scripts of a user's own, of whichever protocol: what they ask is drawn between two operations, and
//! an operation is one script from its first request to its last answer.

use std::rc::Rc;

use assay_runtime::{Handle, RuntimeError};
use assay_wire::http::{self, HttpTarget};
use assay_wire::sql::{Statement, Type, Value};
use assay_wire::{Target, WireError, resp};
use assay_workload::script::{Plan, Stream, Template};

use super::Open;
use crate::client::{Carried, Client, Error, Retries};
use crate::refusals::Refusal;

/// What one protocol needs to run scripts.
#[allow(async_fn_in_trait)] // Sessions stay on their thread: nothing needs `Send`.
pub trait Scripted: Sized + 'static {
    /// One request, ready to be sent.
    type Request;

    /// Makes a request of the n-th text of a script, counted over all scripts.
    fn request(&self, number: usize, text: &Template, values: &[i64]) -> Self::Request;

    /// Sends requests one after the other, each when the one before was answered.
    ///
    /// # Errors
    /// `Server` when one was refused, after which the session goes on.
    async fn run(&mut self, requests: &[Self::Request]) -> Result<(), WireError>;

    /// Puts things right after a refusal.
    ///
    /// # Errors
    /// Those of the session.
    async fn recover(&mut self) -> Result<(), WireError> {
        Ok(())
    }

    /// Says goodbye.
    async fn close(self) {}
}

/// One connection's scripts.
pub struct ScriptClient<S: Scripted> {
    session: S,
    plan: Rc<Plan>,
    stream: Stream,
    /// The number of each script's first text.
    first: Vec<usize>,
    script: usize,
    requests: Vec<S::Request>,
    wrong: Option<String>,
    refusal: Option<Refusal>,
}

impl<S: Scripted> ScriptClient<S> {
    /// Of a session that is ready. Connections are told apart by `number`.
    pub fn new(session: S, plan: Rc<Plan>, number: usize) -> Self {
        let counts = plan.scripts().map(|script| script.asks().count());
        let mut texts = 0;
        let first = counts.map(|count| {
            texts += count;
            texts - count
        });
        let (first, stream) = (first.collect(), plan.stream(number));
        let (script, requests, wrong, refusal) = (0, Vec::new(), None, None);
        let mut made = Self { session, plan, stream, first, script, requests, wrong, refusal };
        made.prepare();
        made
    }
}

impl<S: Scripted> Client for ScriptClient<S> {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        if let Some(wrong) = self.wrong.take() {
            return Err(Error::Script(wrong));
        }
        let mut retries = Retries::default();
        loop {
            match self.session.run(&self.requests).await {
                Ok(()) => return Ok(Carried { retries, ..Carried::one(self.script) }),
                Err(error) => {
                    let refusal = Refusal::of(error)?;
                    self.session.recover().await?;
                    if !retries.note(refusal.kind) {
                        self.refusal = Some(refusal);
                        let is_error = true;
                        return Ok(Carried { retries, is_error, ..Carried::one(self.script) });
                    }
                }
            }
        }
    }

    fn prepare(&mut self) {
        let Self { session, plan, stream, first, requests, .. } = self;
        let script = stream.choose(plan);
        requests.clear();
        let drawn = stream.draw(plan, script, |text, values| {
            let number = first[script] + requests.len();
            requests.push(session.request(number, text, values));
        });
        self.script = script;
        self.wrong = drawn.err().map(|error| error.to_string());
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    async fn close(self) {
        self.session.close().await;
    }
}

/// MySQL's code of a statement that it does not prepare.
const UNPREPARED: &str = "1295";

/// A statement of a script, as its session knows it.
enum Asked {
    Prepared(Statement, Vec<usize>),
    /// One that the server does not prepare, such as MySQL's BEGIN.
    Text(String),
}

/// Statements over SQL, prepared once in each session, as by pgbench's `-M prepared`.
pub struct SqlScripts<S> {
    session: S,
    asked: Vec<Asked>,
}

impl<S: Open> SqlScripts<S> {
    /// Connects and prepares.
    ///
    /// # Errors
    /// Those of the session; `Script` for a statement that the server refuses to prepare.
    pub async fn open(handle: &Handle, target: &Target, plan: &Plan) -> Result<Self, Error> {
        let mut session = S::open(handle, target).await?;
        let mut asked = Vec::new();
        for template in plan.scripts().flat_map(|script| script.asks()) {
            let (text, places) = template.with_question_marks();
            let types = vec![Type::Int; places.len()];
            asked.push(match session.prepare(&text, &types).await {
                Ok(statement) => Asked::Prepared(statement, places),
                Err(WireError::Server { code, .. }) if code == UNPREPARED && places.is_empty() => {
                    Asked::Text(text)
                }
                Err(WireError::Server { message, .. }) => {
                    return Err(Error::Script(format!("{text:?} is refused: {message}")));
                }
                Err(error) => return Err(error.into()),
            });
        }
        Ok(Self { session, asked })
    }
}

impl<S: Open> Scripted for SqlScripts<S> {
    type Request = (usize, Vec<i64>);

    fn request(&self, number: usize, _: &Template, values: &[i64]) -> Self::Request {
        let places = match &self.asked[number] {
            Asked::Prepared(_, places) => places.as_slice(),
            Asked::Text(_) => &[],
        };
        (number, places.iter().map(|place| values[*place]).collect())
    }

    async fn run(&mut self, requests: &[Self::Request]) -> Result<(), WireError> {
        for (number, given) in requests {
            match &self.asked[*number] {
                Asked::Prepared(statement, _) => {
                    let values: Vec<Value<'_>> = given.iter().map(|it| Value::Int(*it)).collect();
                    self.session.run(*statement, &values, |_| Ok(())).await?;
                }
                Asked::Text(text) => {
                    self.session.batch(text).await?;
                }
            }
        }
        Ok(())
    }

    /// Where no transaction is open the server says so, and nothing happens.
    async fn recover(&mut self) -> Result<(), WireError> {
        self.session.batch("ROLLBACK").await.map(|_| ())
    }

    async fn close(self) {
        self.session.close().await;
    }
}

/// How a line is split into the words of a command.
pub type Split = fn(&str) -> Vec<Vec<u8>>;

/// Commands of Redis.
pub struct RespScripts {
    session: resp::Session,
    split: Split,
}

impl RespScripts {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(handle: &Handle, target: &Target, split: Split) -> Result<Self, Error> {
        Ok(Self { session: resp::Session::open(handle, target).await?, split })
    }

    /// The bytes of a command.
    pub fn encoded(&self, line: &str) -> Vec<u8> {
        let words = (self.split)(line);
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let mut request = Vec::new();
        resp::codec::command(&mut request, &words);
        request
    }
}

impl Scripted for RespScripts {
    type Request = Vec<u8>;

    fn request(&self, _: usize, text: &Template, values: &[i64]) -> Vec<u8> {
        self.encoded(&text.filled(values))
    }

    async fn run(&mut self, requests: &[Vec<u8>]) -> Result<(), WireError> {
        for request in requests {
            self.session.exchange(request, 1, |_| ()).await?;
        }
        Ok(())
    }
}

/// Paths of an HTTP server.
pub struct HttpScripts {
    handle: Handle,
    target: HttpTarget,
    session: http::Session,
}

impl HttpScripts {
    /// Connects.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open(handle: Handle, target: HttpTarget) -> Result<Self, Error> {
        let session = http::Session::open(&handle, &target).await?;
        Ok(Self { handle, target, session })
    }

    async fn get(&mut self, target: &HttpTarget) -> Result<(), WireError> {
        if !self.session.is_open() {
            self.session = http::Session::open(&self.handle, &self.target).await?;
        }
        self.session.ask_for(target);
        self.session.get().await.map(|_| ())
    }
}

impl Scripted for HttpScripts {
    type Request = HttpTarget;

    /// Numbers make no path of one that is none: who makes the plan has looked at its texts.
    fn request(&self, _: usize, text: &Template, values: &[i64]) -> HttpTarget {
        self.target.with_path(&text.filled(values)).unwrap_or_else(|_| self.target.clone())
    }

    /// A connection that the server closes between two requests, as it may, is opened again.
    async fn run(&mut self, requests: &[HttpTarget]) -> Result<(), WireError> {
        for target in requests {
            match self.get(target).await {
                Err(WireError::Runtime(RuntimeError::Closed)) => self.get(target).await?,
                result => result?,
            }
        }
        Ok(())
    }
}
