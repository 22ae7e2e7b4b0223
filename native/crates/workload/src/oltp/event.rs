//! What an event consists of.

use super::text::{C_BYTES, PAD_BYTES};

/// One statement with its values. Tables count from 1; ranges include both ends and may reach
/// beyond the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// Starts the transaction.
    Begin,
    /// `c` of one row.
    PointSelect { table: u32, id: u32 },
    /// `c` of a range.
    SimpleRange { table: u32, first: u32, last: u32 },
    /// The sum of `k` over a range.
    SumRange { table: u32, first: u32, last: u32 },
    /// `c` of a range, sorted.
    OrderRange { table: u32, first: u32, last: u32 },
    /// The distinct `c` of a range, sorted.
    DistinctRange { table: u32, first: u32, last: u32 },
    /// Adds one to `k`.
    IndexUpdate { table: u32, id: u32 },
    /// Replaces `c`.
    NonIndexUpdate { table: u32, id: u32, c: [u8; C_BYTES] },
    /// Removes a row.
    Delete { table: u32, id: u32 },
    /// Adds it again, with new values.
    Insert { table: u32, id: u32, k: u32, c: [u8; C_BYTES], pad: [u8; PAD_BYTES] },
    /// Ends the transaction.
    Commit,
}

/// The statements of one event in their order. Its memory is used again by the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The statements.
    pub statements: Vec<Statement>,
}
