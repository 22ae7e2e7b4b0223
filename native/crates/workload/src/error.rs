//! What can be wrong with workload parameters. All of it is the asker's mistake.

use thiserror::Error;

/// A workload that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// A parameter is out of its range.
    #[error("workload.{name} is {value}: must be {allowed}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would be accepted.
        allowed: &'static str,
    },
    /// Two parameters do not go together.
    #[error("{0}")]
    Conflict(&'static str),
}
