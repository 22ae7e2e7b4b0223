//! A session with a memcached server.

use assay_runtime::{Connection, Handle, Traffic};

use super::codec::{Batch, Kind, Reply, Scanner, Step, of_scanned};
use super::{server_error, unexpected};
use crate::{Target, WireError};

/// One connection to a memcached server, over TCP or a Unix socket, without TLS. Commands are
/// encoded by the caller into a [`Batch`] that it keeps; a batch goes out in one send, or in as many
/// as keep both sides from waiting for each other, replies being read in between.
///
/// After `Runtime` or `Protocol` a session is of no use any more.
pub struct Session {
    connection: Connection,
    scanner: Scanner,
    version: String,
}

impl Session {
    /// Connects, logs in where there is a password (`memcached -Y`), and asks for the version.
    ///
    /// # Errors
    /// `Runtime` when nobody answers, `Login` when the server refuses the user or wants one, or is
    /// asked for what it has not (a database, TLS), `Protocol` when it speaks something else.
    pub async fn open(handle: &Handle, target: &Target) -> Result<Self, WireError> {
        let refused = |why: &str| WireError::Login { user: target.user.clone(), why: why.into() };
        if !target.database.is_empty() {
            return Err(refused("memcached has no databases"));
        }
        if target.encryption().is_some() {
            return Err(refused("TLS with memcached is not built in"));
        }
        let connection = Connection::open(handle, &target.address).await?;
        let version = String::new();
        let mut session = Self { connection, scanner: Scanner::default(), version };
        session.log_in(target).await.map_err(|error| match error {
            WireError::Server { code, message, .. } if message.contains("auth") => {
                refused(&format!("{code} {message}"))
            }
            other => other,
        })?;
        Ok(session)
    }

    async fn log_in(&mut self, target: &Target) -> Result<(), WireError> {
        let mut batch = Batch::default();
        if let Some(password) = &target.password {
            // The key has no meaning.
            batch.set(b"login", format!("{} {password}", target.user).as_bytes());
            // Alone: a server that refuses it reads no further.
            self.exchange(&batch, |_| ()).await?;
            batch.clear();
        }
        batch.command(&[b"version"]);
        let mut version = None;
        self.run(&batch, |reply| {
            if let Reply::Version(text) = reply {
                version = Some(String::from_utf8_lossy(text).into_owned());
            }
            Ok(())
        })
        .await?;
        self.version = version.ok_or_else(|| unexpected("no version where it was asked for"))?;
        Ok(())
    }

    /// The server's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How much went through.
    pub fn traffic(&self) -> Traffic {
        self.connection.traffic()
    }

    /// Sends a batch and visits as many replies, whole, in order. A reply lies in memory until it
    /// was visited, however large.
    ///
    /// # Errors
    /// Any. Error replies are not visited; the first of them, or of the visitor's errors, is
    /// returned once every reply was read, and after it the session goes on.
    pub async fn run(
        &mut self,
        batch: &Batch,
        mut visit: impl FnMut(&Reply<'_>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let (mut outcome, mut read) = (Ok(()), 0);
        while let Some((bytes, count)) = batch.window(read) {
            self.send(bytes).await?;
            let end = read + count;
            while read < end {
                let Step::End { bytes, kind } = self.scanner.next(self.connection.input())? else {
                    self.connection.more().await?;
                    continue;
                };
                let result = match of_scanned(&self.connection.input()[..bytes], kind)? {
                    Reply::Error(text) => Err(server_error(text)),
                    reply => visit(&reply),
                };
                outcome = outcome.and(result);
                self.connection.consume(bytes);
                read += 1;
            }
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
        batch: &Batch,
        mut visit: impl FnMut(Kind),
    ) -> Result<(), WireError> {
        let (mut outcome, mut read) = (Ok(()), 0);
        while let Some((bytes, count)) = batch.window(read) {
            self.send(bytes).await?;
            let end = read + count;
            while read < end {
                read += self.pass(end - read, &mut outcome, &mut visit)?;
                if read < end {
                    self.connection.more().await?;
                }
            }
        }
        outcome
    }

    /// Passes over replies that have come, so many at most; how many.
    fn pass(
        &mut self,
        most: usize,
        outcome: &mut Result<(), WireError>,
        visit: &mut impl FnMut(Kind),
    ) -> Result<usize, WireError> {
        let input = self.connection.input();
        let (mut passed, mut replies) = (0, 0);
        while replies < most {
            let Step::End { bytes, kind } = self.scanner.next(&input[passed..])? else {
                passed += self.scanner.discard();
                break;
            };
            if let (Kind::Error, Ok(())) = (kind, &outcome)
                && let Reply::Error(text) = of_scanned(&input[passed..passed + bytes], kind)?
            {
                *outcome = Err(server_error(text));
            }
            visit(kind);
            passed += bytes;
            replies += 1;
        }
        self.connection.consume(passed);
        Ok(replies)
    }

    async fn send(&mut self, commands: &[u8]) -> Result<(), WireError> {
        // Replies of these commands cannot be there yet.
        match self.connection.input() {
            [] => Ok(self.connection.send(commands).await?),
            _ => Err(unexpected("a reply that no command asked for")),
        }
    }

    /// Says goodbye to the server.
    pub async fn close(mut self) {
        // One that is gone already needs no goodbye.
        let _ = self.connection.send(b"quit\r\n").await;
    }
}
