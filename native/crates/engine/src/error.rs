//! What can go wrong in the engine.

use assay_primitives::PrimitiveError;
use thiserror::Error;

/// The engine cannot be built, or cannot go on.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A primitive is missing here or failed.
    #[error(transparent)]
    Primitive(#[from] PrimitiveError),
    /// Inserts have used up the key space that was sized for the expected operations.
    #[error("the key space of {capacity} records is full: the run inserted more than expected")]
    Full {
        /// Records that there was room for.
        capacity: u64,
    },
    /// The arena was sized wrongly: a defect of this crate.
    #[error("the arena has no room for {0}: this is a defect in its sizing")]
    ArenaFull(&'static str),
    /// A choice of parts that cannot be built.
    #[error("parts.{name} is {value}: must be {allowed}")]
    Part {
        /// The part.
        name: &'static str,
        /// What was given.
        value: usize,
        /// What would be accepted.
        allowed: &'static str,
    },
}
