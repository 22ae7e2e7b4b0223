//! The rows of the tables before the run.

use super::stream::Plan;
use super::text::{self, C_BYTES, PAD_BYTES};
use assay_random::Random;

/// A row of `sbtestN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// From 1 to the table size.
    pub id: u32,
    /// Drawn like an id.
    pub k: u32,
    /// Ten groups of digits.
    pub c: [u8; C_BYTES],
    /// Five groups of digits.
    pub pad: [u8; PAD_BYTES],
}

/// With the table in bits 32 to 47 and the id below, no two rows share their random numbers.
const PURPOSE: u64 = 0x6F72 << 48;

impl Plan {
    /// The row with an id, of a table; both count from 1.
    pub fn row(&self, table: u32, id: u32) -> Row {
        let purpose = PURPOSE | u64::from(table) << 32 | u64::from(id);
        let random = &mut Random::new(self.parameters().seed, purpose);
        Row { id, k: self.draw(random), c: text::c(random), pad: text::pad(random) }
    }
}
