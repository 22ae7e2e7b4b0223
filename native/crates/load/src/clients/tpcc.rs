//! TPC-C's terminals.

use std::time::Duration;

use assay_runtime::Handle;
use assay_wire::Target;
use assay_workload::tpcc::inputs::Kind;
use assay_workload::tpcc::{Plan, Request, Stream};

use super::Open;
use crate::client::{Carried, Client, Error, Retries};
use crate::tpcc::{Ending, Terminal, TpccError};

/// The kinds of transaction, in the order of `Kind::ALL`.
pub fn kinds() -> Vec<&'static str> {
    Kind::ALL.map(Kind::name).to_vec()
}

/// One connection's terminal.
pub struct TpccClient<S> {
    terminal: Terminal<S>,
    stream: Stream,
    next: Option<Request>,
    /// What its user thinks after the last transaction.
    thinking: Duration,
}

impl<S: Open> TpccClient<S> {
    /// Connects, and takes other keys than an earlier run of this terminal. Terminals are told
    /// apart by `number`, which also says whose warehouse it is.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        number: usize,
    ) -> Result<Self, Error> {
        let mut stream = plan.stream(number);
        let session = S::open(&handle, &target).await?;
        let mut terminal = Terminal::new(session).await.map_err(error)?;
        stream.skip_past(terminal.last_history(number).await.map_err(error)?);
        Ok(Self { terminal, stream, next: None, thinking: Duration::ZERO })
    }
}

impl<S: Open> Client for TpccClient<S> {
    fn wait_ns(&mut self) -> u64 {
        let next = self.stream.take();
        let wait = self.thinking + next.keying_time;
        self.next = Some(next);
        u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)
    }

    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let request = self.next.take().unwrap_or_else(|| self.stream.take());
        self.thinking = request.think_time;
        let mut retries = Retries::default();
        let (is_rolled_back, is_error) = loop {
            match self.terminal.run(&request.input).await.map_err(error)? {
                Ending::Committed(_) => break (false, false),
                Ending::RolledBack => break (true, false),
                Ending::Conflict(kind) if retries.note(kind) => {}
                Ending::Conflict(_) => break (false, true),
            }
        };
        let kind = Kind::ALL.iter().position(|kind| *kind == request.input.kind()).unwrap_or(0);
        Ok(Carried { retries, is_rolled_back, is_error, ..Carried::one(kind) })
    }

    async fn close(self) {
        self.terminal.into_session().close().await;
    }
}

pub(super) fn error(error: TpccError) -> Error {
    match error {
        TpccError::Wire(error) => error.into(),
        other => Error::Data(other.to_string()),
    }
}
