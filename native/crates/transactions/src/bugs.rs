//! Known mistakes, to see that the checkers find them. Switched on in tests only.

/// A mistake of concurrency control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeededBug {
    /// Reads are not validated at commit; two-phase locking releases shared locks at once.
    ValidationSkipped,
    /// Node sets are not validated at commit.
    NodeSetSkipped,
    /// Locks are released before the writes are installed.
    EarlyRelease,
}
