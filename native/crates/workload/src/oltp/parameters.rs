//! What the tests may be told, with sysbench 1.0.20's defaults.

use super::distribution::Distribution;
use crate::WorkloadError;

/// One of the five tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// One row by its id, without a transaction; always one statement.
    PointSelect,
    /// Points and ranges in a transaction.
    ReadOnly,
    /// Points, ranges, updates, a delete and an insert in a transaction.
    ReadWrite,
    /// Updates of the indexed column, each on its own.
    UpdateIndex,
    /// Updates of a column without index, each on its own.
    UpdateNonIndex,
}

impl Test {
    /// Every test.
    pub const ALL: [Test; 5] = [
        Test::PointSelect,
        Test::ReadOnly,
        Test::ReadWrite,
        Test::UpdateIndex,
        Test::UpdateNonIndex,
    ];

    /// The name used in requests: sysbench's without `oltp_`.
    pub fn name(self) -> &'static str {
        match self {
            Test::PointSelect => "point_select",
            Test::ReadOnly => "read_only",
            Test::ReadWrite => "read_write",
            Test::UpdateIndex => "update_index",
            Test::UpdateNonIndex => "update_non_index",
        }
    }

    /// Whether its statements are wrapped in a transaction unless `skip_trx`.
    pub fn has_transaction(self) -> bool {
        matches!(self, Test::ReadOnly | Test::ReadWrite)
    }
}

/// Everything that decides tables and events. Counts are per event.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Which test.
    pub test: Test,
    /// Tables, `sbtest1` and on.
    pub tables: u32,
    /// Rows in each table at the start.
    pub table_size: u32,
    /// Ids that a range covers.
    pub range_size: u32,
    /// Rows read by id.
    pub point_selects: u32,
    /// Ranges read.
    pub simple_ranges: u32,
    /// Ranges summed.
    pub sum_ranges: u32,
    /// Ranges sorted.
    pub order_ranges: u32,
    /// Ranges sorted without duplicates.
    pub distinct_ranges: u32,
    /// Updates of the indexed column.
    pub index_updates: u32,
    /// Updates of the column without index.
    pub non_index_updates: u32,
    /// Rows deleted and inserted again.
    pub delete_inserts: u32,
    /// No transaction: every statement commits itself.
    pub skip_trx: bool,
    /// How ids are drawn, and the column `k` of new rows.
    pub distribution: Distribution,
    /// The seed of everything.
    pub seed: u64,
}

impl Parameters {
    /// sysbench 1.0.20's defaults for a test.
    pub fn defaults(test: Test, seed: u64) -> Self {
        Self {
            test,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
            distribution: Distribution::SPECIAL,
            seed,
        }
    }

    /// Refuses what cannot be generated.
    ///
    /// # Errors
    /// `OutOfRange` with the parameter's name; `Conflict` for an event without statements.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        in_range("tables", self.tables, 1, 65_535, "from 1 to 65535")?;
        in_range("table_size", self.table_size, 1, ID_MAX, "from 1 to 2147483647")?;
        in_range("range_size", self.range_size, 1, ID_MAX, "from 1 to 2147483647")?;
        for (name, count) in self.counts() {
            in_range(name, count, 0, 10_000, "at most 10000")?;
        }
        self.distribution.validate()?;
        if self.statements() == 0 {
            return Err(WorkloadError::Conflict(
                "an event has no statements: raise one of the counts that this test uses",
            ));
        }
        Ok(())
    }

    /// Statements of an event, without BEGIN and COMMIT.
    pub fn statements(&self) -> usize {
        let ranges =
            self.simple_ranges + self.sum_ranges + self.order_ranges + self.distinct_ranges;
        let reads = self.point_selects + ranges;
        let writes = self.index_updates + self.non_index_updates + 2 * self.delete_inserts;
        let count = match self.test {
            Test::PointSelect => 1,
            Test::ReadOnly => reads,
            Test::ReadWrite => reads + writes,
            Test::UpdateIndex => self.index_updates,
            Test::UpdateNonIndex => self.non_index_updates,
        };
        count as usize
    }

    /// Whether an event starts with BEGIN and ends with COMMIT.
    pub fn has_transaction(&self) -> bool {
        self.test.has_transaction() && !self.skip_trx
    }

    fn counts(&self) -> [(&'static str, u32); 8] {
        [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
        ]
    }
}

/// The largest value of the column `id`.
pub(super) const ID_MAX: u32 = i32::MAX as u32;

fn in_range(
    name: &'static str,
    value: u32,
    least: u32,
    most: u32,
    allowed: &'static str,
) -> Result<(), WorkloadError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(WorkloadError::OutOfRange { name, value: value.to_string(), allowed })
}
