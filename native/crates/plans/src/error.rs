//! What can be wrong with a query, a table or the compiler.

use thiserror::Error;

/// A query that cannot be compiled, or a table that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The query names a column that the schema lacks.
    #[error("no column `{name}`: the table has {known}")]
    UnknownColumn {
        /// What was asked for.
        name: String,
        /// The columns that exist.
        known: String,
    },
    /// Two columns of a table have one name.
    #[error("column `{0}` is there twice: rename one")]
    DuplicateColumn(String),
    /// The columns of a table differ in length.
    #[error("column `{name}` has {rows} rows, the first column {expected}: cut or extend it")]
    UnequalLengths {
        /// The odd one.
        name: String,
        /// Its rows.
        rows: usize,
        /// The rows of the first column.
        expected: usize,
    },
    /// The query is larger than a plan may be.
    #[error("the query has {found} {what}, a plan at most {limit}: split the query")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        limit: usize,
    },
    /// Nothing to compute.
    #[error("the query has no aggregates: give it one")]
    Empty,
    /// The run-time compiler does not work here or refused the function.
    #[error("cranelift: {0}; choose plan `vectorised`")]
    Compiler(String),
}
