//! What can go wrong with an event.

use assay_wire::WireError;

/// An event failed, and so does the run.
#[derive(Debug, thiserror::Error)]
pub enum OltpError {
    /// The session failed, or the server said something a workload cannot live with.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The event has a statement that was not prepared.
    #[error(
        "an event has a statement of table sbtest{0} that is not prepared: prepare the statements \
         with the parameters of the event's plan"
    )]
    Unprepared(u32),
}
