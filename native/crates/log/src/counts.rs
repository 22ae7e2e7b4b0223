//! What was counted: the witness that a mode did what its name says, and its dose.
//!
//! A writer counts in its own memory. The log's counts are kept under the lock that its leaders
//! take anyway. Nothing else is shared.

use assay_primitives::Contention;

/// What all leaders of a log did. Only groups that became durable are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Records made durable.
    pub records: u64,
    /// Bytes made durable.
    pub bytes: u64,
    /// Groups: one write each. In mode `per-commit` every record is a group.
    pub groups: u64,
    /// Syncs: one for each group.
    pub syncs: u64,
    /// Records in the largest group.
    pub group_records_max: u64,
    /// Bytes in the largest group.
    pub group_bytes_max: u64,
}

impl LogCounts {
    pub(crate) fn add_group(&mut self, records: u64, bytes: u64) {
        self.records += records;
        self.bytes += bytes;
        self.groups += 1;
        self.syncs += 1;
        self.group_records_max = self.group_records_max.max(records);
        self.group_bytes_max = self.group_bytes_max.max(bytes);
    }
}

/// What one writer did and met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Transactions appended, those without writes included.
    pub commits: u64,
    /// Records appended: commits that had writes, in modes that log.
    pub records: u64,
    /// Bytes of those records.
    pub bytes: u64,
    /// Times that the device had to be waited for.
    pub waits: u64,
    /// Clock ticks of those waits.
    pub wait_ticks: u64,
    /// What was met at the shared lock when handing over records.
    pub lock: Contention,
}

impl WriterCounts {
    /// Adds another writer's counts.
    pub fn add(&mut self, other: &Self) {
        self.commits += other.commits;
        self.records += other.records;
        self.bytes += other.bytes;
        self.waits += other.waits;
        self.wait_ticks += other.wait_ticks;
        self.lock.add(&other.lock);
    }
}
