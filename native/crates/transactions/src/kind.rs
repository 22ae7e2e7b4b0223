//! Which kinds of concurrency control there are.

use assay_primitives::named;

named! {
    /// The kinds of concurrency control.
    #[derive(Hash)]
    pub enum CcKind {
        /// Two-phase locking; whoever meets a lock aborts.
        NoWait "no-wait",
        /// Two-phase locking; the older transaction waits for the younger, the younger aborts.
        WaitDie "wait-die",
        /// Reads without locks, validated at commit (Silo).
        Optimistic "optimistic",
        /// Reads from a snapshot, validated at commit if the transaction writes.
        MultiVersion "multi-version",
    }
}
