//! Which rows there are, and whose each is.

use super::counters;
use super::draws::{Draws, Purpose};
use crate::WorkloadError;

/// Days that the rows are of, from the second of July 2013.
pub const DAYS: u64 = 30;

/// With fewer rows some questions have no answer.
const ROWS_MIN: u64 = 10_000;
const ROWS_MAX: u64 = 1_000_000_000;
/// A session ends with a block of so many rows at the latest, so that its begin is near.
const BLOCK: u64 = 32;
/// Sessions that begin within a block, beside the one that begins it: with four rows each.
const BEGIN_SHARE: (u64, u64) = (7, 31);
/// Blocks whose first session is the planted user's.
const PLANTED: u64 = 8;

/// What the rows are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How many there are.
    pub rows: u64,
    /// Of all that is random.
    pub seed: u64,
}

/// The rows of some parameters.
#[derive(Clone, Debug)]
pub struct Plan {
    parameters: Parameters,
    first_rows: Vec<u64>,
}

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its counter.
    pub counter: i32,
    /// Its day, from zero.
    pub day: u64,
    /// The first row of its session.
    pub session: u64,
}

impl Plan {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `OutOfRange` for too few or too many rows.
    pub fn new(parameters: Parameters) -> Result<Self, WorkloadError> {
        let rows = parameters.rows;
        if !(ROWS_MIN..=ROWS_MAX).contains(&rows) {
            let allowed = "from 10,000 to 1,000,000,000";
            return Err(WorkloadError::OutOfRange {
                name: "rows",
                value: rows.to_string(),
                allowed,
            });
        }
        Ok(Self { parameters, first_rows: counters::first_rows(rows) })
    }

    /// What this was made from.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whose row this is, and when.
    pub(super) fn place(&self, row: u64) -> Place {
        let after = self.first_rows.partition_point(|first| *first <= row);
        let (first, end) = (self.first_rows[after - 1], self.first_rows[after]);
        let session = self.session(row, first);
        let day = (session - first) * DAYS / (end - first);
        Place { counter: after as i32, day, session }
    }

    /// The first row of a row's session; `first` is that of its counter.
    fn session(&self, row: u64, first: u64) -> u64 {
        let earliest = first.max(row / BLOCK * BLOCK);
        let (share, all) = BEGIN_SHARE;
        let begins = |row: u64| {
            Draws::new(self.parameters.seed, Purpose::SessionStart, row).below(all) < share
        };
        let mut begin = row;
        while begin > earliest && !begins(begin) {
            begin -= 1;
        }
        begin
    }

    /// Whether a session is the planted user's.
    pub(super) fn is_planted(&self, session: u64) -> bool {
        let every = self.parameters.rows / BLOCK / PLANTED;
        session.is_multiple_of(BLOCK) && session / BLOCK % every == every / 2
    }
}
