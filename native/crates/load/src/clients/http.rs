//! One file of an HTTP server, again and again.

use assay_runtime::{Handle, RuntimeError};
use assay_wire::WireError;
use assay_wire::http::{HttpTarget, Session};

use crate::client::{Carried, Client, Error};
use crate::refusals::Refusal;

/// One connection's requests. A connection that the server closes between two requests, as it may,
/// is opened again, and that time belongs to the request.
pub struct HttpClient {
    handle: Handle,
    target: HttpTarget,
    session: Session,
    refusal: Option<Refusal>,
}

impl HttpClient {
    /// Connects.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open(handle: Handle, target: HttpTarget) -> Result<Self, Error> {
        let session = Session::open(&handle, &target).await?;
        Ok(Self { handle, target, session, refusal: None })
    }

    async fn get(&mut self) -> Result<bool, WireError> {
        if !self.session.is_open() {
            self.session = Session::open(&self.handle, &self.target).await?;
        }
        match self.session.get().await {
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
                self.session = Session::open(&self.handle, &self.target).await?;
                self.get().await?
            }
            result => result?,
        };
        Ok(Carried { is_error: !answered, ..Carried::one(0) })
    }

    fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }
}
