//! What is wrong with a measurement itself.

/// Why there was none.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// It cannot be asked for.
    #[error("{0}")]
    Usage(String),
    /// This host lacks something.
    #[error("{message}")]
    Missing {
        /// What, and where.
        message: String,
        /// What to do next.
        next: String,
    },
}
