//! YCSB A to F: the mixes, the key choosers, the records.
//!
//! Source: brianfrankcooper/YCSB at d9faaac (`workloads/workload*`, `CoreWorkload`,
//! `ZipfianGenerator`, `ScrambledZipfianGenerator`, `SkewedLatestGenerator`,
//! `AcknowledgedCounterGenerator`). The same: mix proportions; one random field per update and per
//! read-modify-write; whole records read; scan lengths uniform from 1; hashed insert order; a Zipf
//! key space that is larger than the record count by twice the expected inserts, with keys above
//! the last acknowledged insert drawn again; the scrambled chooser over ten billion ranks.
//!
//! Different, and why:
//! * Inputs are drawn before the run into a list that each thread repeats when it is through; a
//!   redraw takes the next of a second list. Drawing inside the loop would measure `pow`.
//! * Mix D draws the distance from the newest record over the record count at the start. YCSB
//!   lets that count grow with the inserts; at the sizes run here the difference in the hottest
//!   share is far below one percent.
//! * Keys are numbers; YCSB's are text ("user" and the decimal). A session for a text target adds
//!   the prefix. Scans therefore follow the order of numbers, not of their decimal texts.
//! * Key numbers are 64 bits throughout, where YCSB wraps at 2^31.
//! * Read-modify-write is timed as one operation, where YCSB adds up two.

use crate::WorkloadError;
use crate::zipf::YCSB_THETA;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OperationKind {
    /// Read a whole record.
    Read,
    /// Write one field.
    Update,
    /// Add a record.
    Insert,
    /// Read records in key order.
    Scan,
    /// Read a whole record, then write one field.
    ReadModifyWrite,
}

impl OperationKind {
    /// Every kind, in the order of the discriminants.
    pub const ALL: [OperationKind; 5] = [
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Scan,
        OperationKind::ReadModifyWrite,
    ];

    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Read => "read",
            OperationKind::Update => "update",
            OperationKind::Insert => "insert",
            OperationKind::Scan => "scan",
            OperationKind::ReadModifyWrite => "rmw",
        }
    }
}

/// One of the six core workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads only.
    C,
    /// 95 % reads of recent records, 5 % inserts.
    D,
    /// 95 % short scans, 5 % inserts.
    E,
    /// Half reads, half read-modify-writes.
    F,
}

impl Mix {
    /// Every mix.
    pub const ALL: [Mix; 6] = [Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F];

    /// The letter used in requests.
    pub fn name(self) -> &'static str {
        match self {
            Mix::A => "a",
            Mix::B => "b",
            Mix::C => "c",
            Mix::D => "d",
            Mix::E => "e",
            Mix::F => "f",
        }
    }

    /// The share of each kind, in the order of `OperationKind::ALL`.
    pub fn shares(self) -> [f64; 5] {
        match self {
            Mix::A => [0.5, 0.5, 0.0, 0.0, 0.0],
            Mix::B => [0.95, 0.05, 0.0, 0.0, 0.0],
            Mix::C => [1.0, 0.0, 0.0, 0.0, 0.0],
            Mix::D => [0.95, 0.0, 0.05, 0.0, 0.0],
            Mix::E => [0.0, 0.0, 0.05, 0.95, 0.0],
            Mix::F => [0.5, 0.0, 0.0, 0.0, 0.5],
        }
    }

    fn insert_share(self) -> f64 {
        self.shares()[OperationKind::Insert as usize]
    }
}

/// How keys are chosen (mix D always takes the latest).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chooser {
    /// YCSB's own: Zipf over ten billion ranks, hashed onto the key numbers.
    Scrambled10e10,
    /// Zipf over the real number of keys, hashed onto the key numbers.
    Exact,
    /// Every initial record alike.
    Uniform,
}

impl Chooser {
    /// Every chooser.
    pub const ALL: [Chooser; 3] = [Chooser::Scrambled10e10, Chooser::Exact, Chooser::Uniform];

    /// The name used in requests.
    pub fn name(self) -> &'static str {
        match self {
            Chooser::Scrambled10e10 => "scrambled-10e10",
            Chooser::Exact => "exact",
            Chooser::Uniform => "uniform",
        }
    }
}

/// Everything that decides the inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Which mix.
    pub mix: Mix,
    /// Records loaded beforehand.
    pub records: u64,
    /// Fields in a record.
    pub fields: usize,
    /// Bytes in a field.
    pub field_bytes: usize,
    /// Key chooser.
    pub chooser: Chooser,
    /// Zipf skew.
    pub theta: f64,
    /// Expected operations: sizes the key space for inserts.
    pub operations: u64,
    /// The longest scan.
    pub max_scan: u64,
    /// The seed of everything.
    pub seed: u64,
}

fn check(
    is_good: bool,
    name: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), WorkloadError> {
    if is_good {
        return Ok(());
    }
    Err(WorkloadError::OutOfRange { name, value: value.to_string(), allowed })
}

impl Parameters {
    /// Refuses what cannot be generated.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let records = (1..=1 << 31).contains(&self.records);
        check(records, "records", self.records, "from 1 to 2147483648")?;
        check((1..=255).contains(&self.fields), "fields", self.fields, "from 1 to 255")?;
        let field_bytes = (1..=16_384).contains(&self.field_bytes);
        check(field_bytes, "field_bytes", self.field_bytes, "from 1 to 16384")?;
        check(self.theta > 0.0 && self.theta < 1.0, "theta", self.theta, "between 0 and 1")?;
        check(self.operations <= 1 << 40, "operations", self.operations, "at most 2^40")?;
        let max_scan = (1..=u64::from(u16::MAX)).contains(&self.max_scan);
        check(max_scan, "max_scan", self.max_scan, "from 1 to 65535")?;
        let draws_scrambled = self.chooser == Chooser::Scrambled10e10 && self.mix != Mix::D;
        if draws_scrambled && self.theta != YCSB_THETA {
            return Err(WorkloadError::Conflict(
                "workload.theta must be 0.99 with chooser `scrambled-10e10`, because YCSB fixes \
                 its zeta constant; use chooser `exact` for another skew",
            ));
        }
        Ok(())
    }

    /// The inserts that the key space has room for: twice the expected ones, as YCSB does.
    pub fn expected_inserts(&self) -> u64 {
        (self.operations as f64 * self.mix.insert_share() * 2.0) as u64
    }

    /// The largest number of records there can be.
    pub fn capacity(&self) -> u64 {
        self.records + self.expected_inserts()
    }
}

/// One operation, ready to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The key number; for an insert only known once it runs.
    pub number: u64,
    /// The key: the hash of the number.
    pub key: u64,
    /// What to do.
    pub kind: OperationKind,
    /// Which field an update writes.
    pub field: u8,
    /// Which value of the pool is written.
    pub value: u16,
    /// How many records a scan reads.
    pub length: u16,
}
