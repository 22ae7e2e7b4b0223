//! The trade-desk's users.

use std::time::Duration;

use assay_runtime::Handle;
use assay_wire::{Target, WireError};
use assay_workload::trade_desk::{Kind, Outcome, Plan, Stream};

use super::Open;
use crate::client::{Carried, Client, Error, Retries};
use crate::trade_desk::{Desk, DeskError, Ending};

/// The kinds of request, in the order of `Kind::ALL`: reports are not asked of servers, and
/// temporary tables only where the dial is above zero.
pub fn kinds(plan: &Plan) -> Vec<&'static str> {
    let is_catalogued = plan.parameters().catalogue_share > 0.0;
    let is_asked = |kind: &Kind| match kind {
        Kind::Report => false,
        Kind::CreateTemporary | Kind::DropTemporary => is_catalogued,
        _ => true,
    };
    Kind::ALL.into_iter().filter(is_asked).map(Kind::name).collect()
}

/// One connection's user.
pub struct TradeDeskClient<S> {
    desk: Desk<S>,
    stream: Stream,
    /// What its user thinks after the last request.
    thinking: Duration,
}

impl<S: Open> TradeDeskClient<S> {
    /// Connects, prepares, and takes other keys than an earlier run of this user. Users are told
    /// apart by `number`, which is below the plan's users.
    ///
    /// # Errors
    /// Those of the session.
    pub async fn open(
        handle: Handle,
        target: Target,
        plan: &Plan,
        number: usize,
    ) -> Result<Self, Error> {
        let users = plan.parameters().users;
        let user = u16::try_from(number).ok().filter(|user| *user < users);
        let user = user.ok_or_else(|| Error::Data(format!("user {number} of {users}")))?;
        let session = S::open(&handle, &target).await?;
        let mut desk = Desk::new(session).await?;
        let mut stream = plan.stream(user);
        stream.skip_past(desk.last_sequence(user).await?);
        Ok(Self { desk, stream, thinking: Duration::ZERO })
    }
}

impl<S: Open> Client for TradeDeskClient<S> {
    fn wait_ns(&mut self) -> u64 {
        u64::try_from(self.thinking.as_nanos()).unwrap_or(u64::MAX)
    }

    async fn carry_out(&mut self) -> Result<Carried, Error> {
        let request = self.stream.take();
        self.thinking = request.think_time;
        let mut retries = Retries::default();
        let (is_refused, is_error) = loop {
            match self.desk.run(&request.input).await {
                Ok(Ending::Committed(outcome)) => break (outcome == Outcome::Refused, false),
                Ok(Ending::Conflict(kind)) if retries.note(kind) => {}
                Ok(Ending::Conflict(_)) | Err(DeskError::Wire(WireError::Server { .. })) => {
                    break (false, true);
                }
                Err(DeskError::Wire(error)) => return Err(error.into()),
                Err(other) => return Err(Error::Data(other.to_string())),
            }
        };
        let kind = request.input.kind() as usize;
        Ok(Carried { retries, is_refused, is_error, ..Carried::one(kind) })
    }

    async fn close(self) {
        self.desk.into_session().close().await;
    }
}
