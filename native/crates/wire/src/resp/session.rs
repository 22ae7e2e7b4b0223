//! A session with a RESP server.

use assay_runtime::{Connection, Handle, Traffic};

use super::codec::{self, Kind, Reply, Scanner, Step};
use super::{server_error, unexpected};
use crate::{Target, WireError};

/// The user whom servers without users mean.
const DEFAULT_USER: &str = "default";

/// One connection to a server of Redis' kind. Commands are encoded by the caller, with
/// [`codec::command`], into memory that it keeps; any number of them go out in one send.
///
/// After `Runtime` or `Protocol` a session is of no use any more. What the server pushes unasked
/// (RESP3) is passed over.
pub struct Session {
    connection: Connection,
    scanner: Scanner,
    version: u8,
}

impl Session {
    /// Connects, logs in and selects the database, which is a number. Speaks RESP3 where the
    /// server knows it (`HELLO`, Redis 6), and else RESP2.
    ///
    /// # Errors
    /// `Runtime` when nobody answers, `Login` when the server refuses the user or wants one,
    /// `Server` when it has no such database.
    pub async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        let database = database_number(target)?;
        let mut connection = Connection::open(handle, &target.address).await?;
        if let Some(tls) = target.encryption() {
            tls.start(&mut connection).await?;
        }
        let mut session = Self { connection, scanner: Scanner::default(), version: 3 };
        session.log_in(target).await?;
        if database > 0 {
            session.ask(&[b"SELECT", database.to_string().as_bytes()]).await?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, target: &Target) -> Result<(), WireError> {
        let user = if target.user.is_empty() { DEFAULT_USER } else { &target.user };
        let password = target.password.as_deref().map(str::as_bytes);
        let greeting = match password {
            None => self.ask(&[b"HELLO", b"3"]).await,
            Some(word) => self.ask(&[b"HELLO", b"3", b"AUTH", user.as_bytes(), word]).await,
        };
        match greeting {
            Err(WireError::Server { code, message, .. }) if knows_no_hello(&code, &message) => {
                self.version = 2;
            }
            other => return other.map_err(|error| refused(user, error)),
        }
        let answer = match password {
            // Nothing to say, but a server that wants a password is to be found out now.
            None => self.ask(&[b"PING"]).await,
            // Before Redis 6 there is one user, without a name.
            Some(word) if user == DEFAULT_USER => self.ask(&[b"AUTH", word]).await,
            Some(word) => self.ask(&[b"AUTH", user.as_bytes(), word]).await,
        };
        answer.map_err(|error| refused(user, error))
    }

    async fn ask(&mut self, parts: &[&[u8]]) -> Result<(), WireError> {
        let mut command = Vec::new();
        codec::command(&mut command, parts);
        self.exchange(&command, 1, |_| ()).await
    }

    /// The version of RESP that is spoken: 2 or 3.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// How much went through.
    pub fn traffic(&self) -> Traffic {
        self.connection.traffic()
    }

    /// Sends a batch of encoded commands in one go and visits as many replies, whole, in order. A
    /// reply lies in memory until it was visited, however large.
    ///
    /// All of the batch is sent before replies are read, so a batch may be larger than the
    /// sockets' buffers only if the server keeps what it answers meanwhile, as Redis does.
    ///
    /// # Errors
    /// Any. Error replies are not visited; the first of them, or of the visitor's errors, is
    /// returned once every reply was read, and after it the session goes on.
    pub async fn run(
        &mut self,
        batch: &[u8],
        replies: usize,
        mut visit: impl FnMut(&Reply<'_>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        self.send(batch).await?;
        let mut outcome = Ok(());
        let mut read = 0;
        while read < replies {
            let Step::End { bytes, kind } = self.scanner.next(self.connection.input())? else {
                self.connection.more().await?;
                continue;
            };
            if kind != Kind::Push {
                let result = match decoded(&self.connection.input()[..bytes])? {
                    Reply::Error(text) => Err(server_error(text)),
                    reply => visit(&reply),
                };
                outcome = outcome.and(result);
                read += 1;
            }
            self.connection.consume(bytes);
        }
        outcome
    }

    /// Sends a batch as [`Session::run`] does and passes over the replies without decoding them, in
    /// constant memory whatever their size. The visitor hears what each was.
    ///
    /// # Errors
    /// `Runtime` and `Protocol`; `Server` with the first error reply once every reply was read,
    /// after which the session goes on.
    pub async fn exchange(
        &mut self,
        batch: &[u8],
        replies: usize,
        mut visit: impl FnMut(Kind),
    ) -> Result<(), WireError> {
        self.send(batch).await?;
        let mut outcome = Ok(());
        let mut read = 0;
        loop {
            let input = self.connection.input();
            let mut passed = 0;
            while read < replies {
                let Step::End { bytes, kind } = self.scanner.next(&input[passed..])? else { break };
                let reply = &input[passed..passed + bytes];
                passed += bytes;
                if kind == Kind::Push {
                    continue;
                }
                if kind == Kind::Error && outcome.is_ok() {
                    outcome = decoded(reply).and_then(error_of);
                }
                visit(kind);
                read += 1;
            }
            if read == replies {
                self.connection.consume(passed);
                return outcome;
            }
            passed += self.scanner.discard();
            self.connection.consume(passed);
            self.connection.more().await?;
        }
    }

    async fn send(&mut self, batch: &[u8]) -> Result<(), WireError> {
        // Replies of this batch cannot be there yet.
        match self.connection.input().first() {
            None | Some(b'>') => Ok(self.connection.send(batch).await?),
            Some(_) => Err(unexpected("a reply that no command asked for")),
        }
    }
}

/// A reply that the scanner has seen the end of.
fn decoded(bytes: &[u8]) -> Result<Reply<'_>, WireError> {
    let reply = codec::decode(bytes)?;
    reply.map(|(_, reply)| reply).ok_or_else(|| unexpected("a reply that ends within itself"))
}

fn error_of(reply: Reply<'_>) -> Result<(), WireError> {
    match reply {
        Reply::Error(text) => Err(server_error(text)),
        _ => Ok(()),
    }
}

fn database_number(target: &Target) -> Result<u32, WireError> {
    if target.database.is_empty() {
        return Ok(0);
    }
    target.database.parse().map_err(|_| WireError::Login {
        user: target.user.clone(),
        why: format!("database {:?} is no number; Redis numbers them from 0", target.database),
    })
}

/// Whether this is what a server says to `HELLO 3` that does not know it, or knows no RESP3.
fn knows_no_hello(code: &str, message: &str) -> bool {
    code == "NOPROTO" || (code == "ERR" && message.to_ascii_lowercase().contains("unknown command"))
}

/// An error of the server while logging in, which is one of the log-in unless it says that the
/// server is not ready or full.
fn refused(user: &str, error: WireError) -> WireError {
    match error {
        WireError::Server { code, message, .. }
            if matches!(&*code, "NOAUTH" | "WRONGPASS" | "NOPERM")
                || message.contains("AUTH")
                || message.contains("password") =>
        {
            WireError::Login { user: user.to_owned(), why: format!("{code} {message}") }
        }
        other => other,
    }
}
