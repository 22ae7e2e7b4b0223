//! A session with an HTTP server.

use assay_runtime::{Connection, Handle, RuntimeError, Traffic};

use super::codec::{BodyReader, Head, HeadReader, reason};
use super::{HttpTarget, unexpected};
use crate::{ServerErrorKind, WireError};

/// What the server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code, below 400.
    pub status: u16,
    /// Bytes of the body, without what frames them.
    pub body_bytes: u64,
    /// Whether the session can ask again; if not, open another.
    pub stays_open: bool,
}

/// One connection to a server, which asks for the same file again and again.
pub struct Session {
    connection: Connection,
    request: Vec<u8>,
    heads: HeadReader,
    is_open: bool,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// `Runtime` when nobody answers.
    pub async fn open(handle: &Handle, target: &HttpTarget) -> Result<Self, WireError> {
        let mut connection = Connection::open(handle, target.address()).await?;
        if let Some(tls) = target.tls() {
            tls.start(&mut connection).await?;
        }
        let heads = HeadReader::default();
        Ok(Self { connection, request: target.request(), heads, is_open: true })
    }

    /// From now on it asks for another file, of the same server.
    pub fn ask_for(&mut self, target: &HttpTarget) {
        self.request = target.request();
    }

    /// Asks for the file and counts its bytes.
    ///
    /// # Errors
    /// `Server` when the status is 400 or above: [`Session::is_open`] then says whether the session
    /// goes on. `Runtime` with `Closed` when the server has closed the connection, which it may do
    /// between any two requests.
    pub async fn get(&mut self) -> Result<Answer, WireError> {
        self.get_with(|_| ()).await
    }

    /// Asks for the file and gives its bytes, whatever the status, to `body` piece by piece.
    ///
    /// # Errors
    /// As [`Session::get`].
    pub async fn get_with(&mut self, mut body: impl FnMut(&[u8])) -> Result<Answer, WireError> {
        if !self.is_open {
            return Err(RuntimeError::Closed.into());
        }
        if !self.connection.input().is_empty() {
            return Err(unexpected("an answer that no request asked for"));
        }
        // Until the answer is whole, the connection is of no use.
        self.is_open = false;
        self.connection.send(&self.request).await?;
        let head = self.head().await?;
        let body_bytes = self.body(head, &mut body).await?;
        self.is_open = head.stays_open;
        if head.status >= 400 {
            let (code, message) = (head.status.to_string(), reason(self.heads.last()));
            return Err(WireError::Server { code, message, kind: ServerErrorKind::Other });
        }
        Ok(Answer { status: head.status, body_bytes, stays_open: head.stays_open })
    }

    /// The head of the answer; those that only announce it are passed over.
    async fn head(&mut self) -> Result<Head, WireError> {
        loop {
            let Some((bytes, head)) = self.heads.next(self.connection.input())? else {
                self.connection.more().await?;
                continue;
            };
            self.connection.consume(bytes);
            match head.status {
                101 => return Err(unexpected("a switch to a protocol that nobody asked for")),
                100..=199 => {}
                _ => return Ok(head),
            }
        }
    }

    async fn body(&mut self, head: Head, body: &mut impl FnMut(&[u8])) -> Result<u64, WireError> {
        let mut reader = BodyReader::new(head.framing);
        let mut counted = 0;
        loop {
            let progress = reader.next(self.connection.input(), |piece| {
                counted += piece.len() as u64;
                body(piece);
            })?;
            self.connection.consume(progress.bytes);
            if progress.is_over {
                return Ok(counted);
            }
            match self.connection.more().await {
                Err(RuntimeError::Closed)
                    if reader.ends_with_connection() && !self.connection.is_cut_off() =>
                {
                    return Ok(counted);
                }
                result => result?,
            }
        }
    }

    /// Whether another request may be made.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// How much went through.
    pub fn traffic(&self) -> Traffic {
        self.connection.traffic()
    }
}
