//! What one connection does.

use assay_wire::{ServerErrorKind, WireError};

use crate::refusals::Refusal;

/// One request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its place in the workload's list of kinds.
    pub kind: usize,
    /// Operations that it was: more than one where requests are pipelined.
    pub operations: u32,
    /// Tries that were rolled back before it, by cause.
    pub retries: Retries,
    /// Whether it was rolled back because its input demands it, which is no error.
    pub is_rolled_back: bool,
    /// Whether the workload itself refused it, as its rules say, which is no error.
    pub is_refused: bool,
    /// Whether the server refused it for good.
    pub is_error: bool,
}

impl Carried {
    /// One operation that went as it should.
    pub fn one(kind: usize) -> Self {
        let retries = Retries::default();
        let (is_rolled_back, is_refused, is_error) = (false, false, false);
        Self { kind, operations: 1, retries, is_rolled_back, is_refused, is_error }
    }
}

/// Tries that were rolled back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// Deadlocks.
    pub deadlocks: u32,
    /// Rows that others had changed.
    pub conflicts: u32,
    /// Locks that were not had in time.
    pub lock_timeouts: u32,
    /// Keys that another session had inserted meanwhile, where the workload goes on after that.
    pub duplicate_keys: u32,
}

impl Retries {
    /// Counts a transient error; false, and nothing counted, for another one.
    pub fn note(&mut self, kind: ServerErrorKind) -> bool {
        match kind {
            ServerErrorKind::Deadlock => self.deadlocks += 1,
            ServerErrorKind::Conflict => self.conflicts += 1,
            ServerErrorKind::LockTimeout => self.lock_timeouts += 1,
            ServerErrorKind::DuplicateKey | ServerErrorKind::Other => return false,
        }
        true
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.deadlocks += other.deadlocks;
        self.conflicts += other.conflicts;
        self.lock_timeouts += other.lock_timeouts;
        self.duplicate_keys += other.duplicate_keys;
    }
}

/// Why a client cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its session failed.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server's data are not what the workload left there.
    #[error("the data are not as the workload left them: {0}")]
    Data(String),
    /// A file that the workload is made from is of no use.
    #[error("{path}: {what}")]
    File {
        /// Which.
        path: String,
        /// Why.
        what: String,
    },
    /// A script of a user's own cannot be carried out.
    #[error("the script cannot be run: {0}")]
    Script(String),
    /// Told to stop before it was done.
    #[error("stopped before it was done")]
    Stopped,
    /// Nobody answered for too long.
    #[error("no answer for {seconds} s: the server is gone, or half of the connection is")]
    Silence {
        /// How long was waited.
        seconds: u64,
    },
}

/// One connection's part of a workload. Logged in and prepared when it is made.
#[allow(async_fn_in_trait)] // Clients stay on their thread: nothing needs `Send`.
pub trait Client: 'static {
    /// How long its user thinks and types before the next request, in nanoseconds. Only asked in
    /// a closed loop.
    fn wait_ns(&mut self) -> u64 {
        0
    }

    /// Carries out the next request. An error that the server gives for a single request is in
    /// `Carried::is_error`, and its words are then taken with [`Client::take_refusal`].
    ///
    /// # Errors
    /// When the connection is of no use any more, or the data are wrong.
    async fn carry_out(&mut self) -> Result<Carried, Error>;

    /// Makes the next request ready, between the end of one and the beginning of the next: what it
    /// takes is in the time of neither.
    fn prepare(&mut self) {}

    /// The load goes to another server for a while. What was luck about this connection may be drawn
    /// anew meanwhile.
    fn rest(&mut self) {}

    /// What the server said to the request that it refused last.
    fn take_refusal(&mut self) -> Option<Refusal> {
        None
    }

    /// Says goodbye to the server.
    async fn close(self)
    where
        Self: Sized,
    {
    }
}
