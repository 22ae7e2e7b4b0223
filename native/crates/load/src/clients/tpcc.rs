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

/// What a terminal takes for a transaction with its waits, on average: over so long the terminals
/// begin one after the other, so that they do not all ask at once.
const CYCLE: Duration = Duration::from_secs(21);
/// Multiples of it, without their whole part, lie evenly between 0 and 1 however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// One connection's terminal.
pub struct TpccClient<S> {
    terminal: Terminal<S>,
    stream: Stream,
    next: Option<Request>,
    /// Keying and think times are so many times those of the specification.
    wait_scale: f64,
    /// What its user thinks after the last transaction.
    thinking: Duration,
}

impl<S: Open> TpccClient<S> {
    /// Connects, and takes other keys than an earlier run of this terminal. Terminals are told
    /// apart by `number`, which also says whose warehouse it is. Where they wait, they do so for
    /// `wait_scale` times as long as the specification says.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        number: usize,
        wait_scale: f64,
    ) -> Result<Self, Error> {
        let mut stream = plan.stream(number);
        let session = S::open(&handle, &target).await?;
        let mut terminal = Terminal::new(session).await.map_err(error)?;
        stream.skip_past(terminal.last_history(number).await.map_err(error)?);
        let phase = (number as f64 * GOLDEN).fract();
        let has_waits = plan.parameters().has_waits;
        let thinking = if has_waits { CYCLE.mul_f64(phase) } else { Duration::ZERO };
        Ok(Self { terminal, stream, next: None, wait_scale, thinking })
    }
}

impl<S: Open> Client for TpccClient<S> {
    fn wait_ns(&mut self) -> u64 {
        let next = self.stream.take();
        let wait = (self.thinking + next.keying_time).mul_f64(self.wait_scale);
        self.next = Some(next);
        u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)
    }

    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let request = self.next.take().unwrap_or_else(|| self.stream.take());
        self.thinking = request.think_time;
        let mut retries = Retries::default();
        let (is_rolled_back, is_error) = loop {
            // A transaction's state is some kilobytes, which a terminal that waits does without.
            let run = Box::pin(self.terminal.run(&request.input));
            match run.await.map_err(error)? {
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
