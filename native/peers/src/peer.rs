//! The seam of the race: what every contestant can do, and how a batch of operations runs.
//!
//! One operation is one transaction where the contestant has transactions. A read copies the whole
//! record out, an update replaces one field, and what a store must do for that is its own matter.
//! The batch loop is a method with a body, so that it is compiled once per session type: operations
//! are called directly, and only a batch is called through a pointer.

use std::hint::black_box;
use std::path::Path;

use anyhow::Result;
use assay_workload::hash::fnv1a_64;
use assay_workload::{Operation, OperationKind, Values};

/// Operations between two looks at the clock.
pub const BATCH: usize = 64;
/// Operations told at a time to whoever takes more than one.
pub const AHEAD: usize = 16;

/// The sizes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Records loaded beforehand.
    pub records: u64,
    /// Fields in a record.
    pub fields: usize,
    /// Bytes in a field.
    pub field_bytes: usize,
}

impl Shape {
    /// Bytes of a whole record.
    pub fn record_bytes(&self) -> usize {
        self.fields * self.field_bytes
    }

    /// Bytes of the memory that a record is copied into: whole words, for stores that have those.
    pub fn copy_bytes(&self) -> usize {
        self.record_bytes().next_multiple_of(8)
    }
}

/// What a contestant is opened with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The sizes.
    pub shape: Shape,
    /// An empty folder of its own, in memory.
    pub folder: &'a Path,
}

/// A new value of one field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Which field of the record.
    pub number: usize,
    /// Its new bytes.
    pub bytes: &'a [u8],
}

impl<'a> Field<'a> {
    /// What an update writes.
    #[inline]
    pub fn of(operation: &Operation, values: &'a Values) -> Self {
        let bytes = values.value(usize::from(operation.value));
        Self { number: usize::from(operation.field), bytes }
    }
}

impl Field<'_> {
    /// Whether the field is all there is: then a store may put it without looking at the old one,
    /// since every key that the race updates exists.
    #[inline]
    pub fn is_whole(&self, record_bytes: usize) -> bool {
        self.bytes.len() == record_bytes
    }

    /// Writes the field into a whole record.
    #[inline]
    pub fn write_to(&self, record: &mut [u8]) {
        let start = self.number * self.bytes.len();
        record[start..start + self.bytes.len()].copy_from_slice(self.bytes);
    }
}

/// What is loaded: records in the order of their numbers, which for the hashed keys is no order.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The sizes.
    pub shape: Shape,
    /// The pool that initial values come from.
    pub values: &'a Values,
}

impl Records<'_> {
    /// Gives every record to `sink`; stops at its first error.
    pub fn each(&self, mut sink: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        self.range(0, self.shape.records, &mut sink)
    }

    /// Gives the records of the numbers from `start` to before `end` to `sink`.
    pub fn range(
        &self,
        start: u64,
        end: u64,
        sink: &mut impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut record = vec![0; self.shape.record_bytes()];
        for number in start..end {
            let key = fnv1a_64(number);
            for field in 0..self.shape.fields {
                let bytes = self.values.initial(key, field);
                Field { number: field, bytes }.write_to(&mut record);
            }
            sink(key, &record)?;
        }
        Ok(())
    }
}

/// A store with its records.
pub trait Peer: Sync {
    /// Runs `work` with a session of the calling thread.
    fn with_session(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) -> Result<()>;

    /// Loads every record by the fastest way there is; by default one insert after the other.
    fn load(&self, records: &Records<'_>) -> Result<()> {
        self.with_session(&mut |session| records.each(|key, record| session.insert(key, record)))
    }
}

/// One thread's way into a store.
pub trait Session {
    /// Copies a record into the front of `copy`, which has `Shape::copy_bytes`; false when there is
    /// none.
    fn get(&mut self, key: u64, copy: &mut [u8]) -> Result<bool>;

    /// Replaces one field of a record; false when there is none.
    fn update(&mut self, key: u64, field: Field<'_>) -> Result<bool>;

    /// Adds a record.
    fn insert(&mut self, key: u64, record: &[u8]) -> Result<()>;

    /// Carries out reads and updates; returns how many found no record. A session that gains from
    /// knowing a whole batch overrides this.
    fn execute(&mut self, batch: &[Operation], values: &Values, copy: &mut [u8]) -> Result<usize> {
        let mut missed = 0;
        for operation in batch {
            missed += usize::from(!self.operate(operation, values, copy)?);
        }
        Ok(missed)
    }

    /// Carries out one operation of a batch.
    #[inline(always)]
    fn operate(&mut self, operation: &Operation, values: &Values, copy: &mut [u8]) -> Result<bool> {
        match operation.kind {
            OperationKind::Update => self.update(operation.key, Field::of(operation, values)),
            _ => {
                let found = self.get(operation.key, copy)?;
                // The copy is the operation's result: it must happen although nobody reads it.
                black_box(copy);
                Ok(found)
            }
        }
    }
}

/// What most reads end in.
#[inline(always)]
pub fn copy_out(record: &[u8], copy: &mut [u8]) {
    copy[..record.len()].copy_from_slice(record);
}

/// Builds a map whose values are arrays, for the record sizes that the race knows.
macro_rules! by_size {
    ($peer:ident, $shape:expr) => {
        match $shape.record_bytes() {
            100 => Ok(Box::new($peer::<100>::new($shape)) as Box<dyn $crate::peer::Peer>),
            1000 => Ok(Box::new($peer::<1000>::new($shape)) as Box<dyn $crate::peer::Peer>),
            other => Err(anyhow::anyhow!(
                "records of {other} bytes: the maps are compiled for 100 and 1000"
            )),
        }
    };
}

pub(crate) use by_size;
