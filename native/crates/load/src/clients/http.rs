//! One file of an HTTP server, again and again.

use assay_runtime::{Handle, RuntimeError};
use assay_wire::WireError;
use assay_wire::http::{HttpTarget, Session};

use crate::client::{Carried, Client, Error};
use crate::refusals::Refusal;

/// One connection's requests. A connection that the server closes between two requests, as it may,
/// is opened again, and that time belongs to the request.
///
/// Where arms take turns, each turn has a connection of its own: which of a server's workers
/// accepts it is luck, which would last for a life of the server otherwise. One under TLS stays,
/// because to agree on keys costs the server more than a turn's first moments.
pub struct HttpClient {
    handle: Handle,
    target: HttpTarget,
    session: Option<Session>,
    refusal: Option<Refusal>,
}

impl HttpClient {
    /// Connects.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open(handle: Handle, target: HttpTarget) -> Result<Self, Error> {
        let session = Some(Session::open(&handle, &target).await?);
        Ok(Self { handle, target, session, refusal: None })
    }

    async fn get(&mut self) -> Result<bool, WireError> {
        let mut session = match self.session.take().filter(Session::is_open) {
            Some(session) => session,
            None => Session::open(&self.handle, &self.target).await?,
        };
        let answered = session.get().await;
        self.session = Some(session);
        match answered {
            Ok(_) => Ok(true),
            Err(error) => {
                self.refusal = Some(Refusal::of(error)?);
                Ok(false)
            }
        }
    }
}

impl Client for HttpClient {
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let answered = match self.get().await {
            Err(WireError::Runtime(RuntimeError::Closed)) => {
                self.session = None;
                self.get().await?
            }
            result => result?,
        };
        Ok(Carried { is_error: !answered, ..Carried::one(0) })
    }

    fn rest(&mut self) {
        if self.target.tls().is_none() {
            self.session = None;
        }
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}
