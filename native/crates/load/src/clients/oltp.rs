//! sysbench's OLTP events.

use std::rc::Rc;

use assay_runtime::Handle;
use assay_wire::Target;
use assay_workload::oltp::{Event, Plan, Stream};

use super::Open;
use crate::client::{Carried, Client, Error, Retries};
use crate::oltp::{Counts, OltpError, Outcome, Statements, run_event};

/// One connection's events.
pub struct OltpClient<S> {
    session: S,
    statements: Statements,
    stream: Stream,
    event: Event,
    counts: Counts,
}

impl<S: Open> OltpClient<S> {
    /// Connects and prepares. Connections are told apart by `number`.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: Rc<Plan>,
        number: usize,
    ) -> Result<Self, Error> {
        let mut session = S::open(&handle, &target).await?;
        let statements = Statements::prepare(&mut session, &plan).await?;
        let (stream, event) = (plan.stream(number), Event::default());
        Ok(Self { session, statements, stream, event, counts: Counts::default() })
    }
}

impl<S: Open> Client for OltpClient<S> {
    /// An event that had to be given up is followed at once by the next, and the time of both is
    /// one, as in sysbench.
    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let mut retries = Retries::default();
        loop {
            self.stream.take(&mut self.event);
            let ran = run_event(&mut self.session, &self.statements, &self.event, &mut self.counts);
            match ran.await.map_err(error)? {
                Outcome::GivenUp(kind) => {
                    if !retries.note(kind) {
                        // The same id was deleted and inserted by another session.
                        retries.duplicate_keys += 1;
                    }
                }
                Outcome::Done => {
                    return Ok(Carried { retries, ..Carried::one(0) });
                }
            }
        }
    }

    async fn close(self) {
        self.session.close().await;
    }
}

fn error(error: OltpError) -> Error {
    match error {
        OltpError::Wire(error) => error.into(),
        other => Error::Data(other.to_string()),
    }
}
