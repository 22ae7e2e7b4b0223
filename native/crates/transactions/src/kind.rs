//! Which kinds of concurrency control there are.

/// The kinds of concurrency control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CcKind {
    /// Two-phase locking; whoever meets a lock aborts.
    NoWait,
    /// Two-phase locking; the older transaction waits for the younger, the younger aborts.
    WaitDie,
    /// Reads without locks, validated at commit (Silo).
    Optimistic,
    /// Reads from a snapshot, validated at commit if the transaction writes.
    MultiVersion,
}

impl CcKind {
    /// Every kind.
    pub const ALL: [CcKind; 4] =
        [CcKind::NoWait, CcKind::WaitDie, CcKind::Optimistic, CcKind::MultiVersion];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            CcKind::NoWait => "no-wait",
            CcKind::WaitDie => "wait-die",
            CcKind::Optimistic => "optimistic",
            CcKind::MultiVersion => "multi-version",
        }
    }
}
