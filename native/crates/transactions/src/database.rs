//! A database: tables under one kind of concurrency control.

use assay_index::{BuiltIndex, Caller, IndexKind, build_on_pages};
use assay_primitives::locks::Waiting;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, AnyLockContext, PrimitiveError};
use assay_workload::tables::TableSchema;

use crate::base::{Base, Table};
use crate::cc::Protocol;
use crate::error::TransactionError;
use crate::loader::Loader;
use crate::options::{Options, TableOptions};
use crate::quiescent::Quiescent;
use crate::tid::WORKERS_MAX;
use crate::waits::Pauses;
use crate::worker::Worker;

/// The kinds of concurrency control, as types: [`crate::NoWait`], [`crate::WaitDie`],
/// [`crate::Optimistic`], [`crate::MultiVersion`]. No others can be written outside this crate.
pub trait ConcurrencyControl: Protocol {}

impl<C: Protocol> ConcurrencyControl for C {}

/// Tables, and transactions over them.
pub struct Database<C: ConcurrencyControl> {
    shared: C,
    base: Base,
}

const ROW_BYTES_MAX: usize = 1 << 16;

impl<C: ConcurrencyControl> Database<C> {
    /// Bytes that concurrency control puts before each row: a row store needs that much more.
    pub const HEADER_BYTES: usize = C::PREFIX * 8;

    /// A function that only this kind of concurrency control calls; `WorkerCounts` has the calls.
    pub fn witness(&self) -> Address {
        self.shared.witness()
    }

    /// Empty tables. Indexes that are built here are on pages of the rows' kind, where they are on
    /// pages.
    ///
    /// # Errors
    /// `Options` when they make no sense, `Primitive` when this host lacks the hint or the pages.
    pub fn new(options: Options) -> Result<Self, TransactionError> {
        check(&options)?;
        let Options { tables, indexes, lock, waiting, log, rows, clock, workers, bug } = options;
        let latches = Waiting::new(lock, waiting.hint, waiting.limit, clock)?;
        let pauses = Pauses::new(waiting.hint, waiting.limit, clock)?;
        let (mut indexes, pages) = (indexes.into_iter(), rows.memory().mode());
        let table = |options: TableOptions| {
            let TableOptions { schema, index, capacity } = options;
            let built = match indexes.next() {
                Some(given) => empty(schema, given, latches)?,
                None => build_on_pages(index, lock, capacity, pages)?,
            };
            let words = schema.row_bytes / 8;
            Ok(Table { schema, index: built, words, bytes: (C::PREFIX + words) * 8 })
        };
        let tables: Result<_, TransactionError> = tables.into_iter().map(table).collect();
        let tables = tables?;
        let base = Base::new(tables, rows, log, latches, pauses, workers, bug);
        Ok(Self { shared: C::new(), base })
    }

    /// A door for rows outside transactions. Several threads may load at once, each with its own;
    /// no transaction may run meanwhile.
    ///
    /// # Panics
    /// When there are `workers` workers, loaders and readers already.
    pub fn load(&self) -> Loader<'_, C> {
        Loader::new(&self.shared, &self.base)
    }

    /// A door for transactions, one per thread.
    ///
    /// # Panics
    /// When there are `workers` workers, loaders and readers already.
    pub fn worker(&self) -> Worker<'_, C> {
        Worker::new(&self.shared, &self.base)
    }

    /// Reads tables without any concurrency control, for checks of consistency. Right only while
    /// no transaction runs; otherwise rows may be torn or missing.
    ///
    /// # Panics
    /// When there are `workers` workers, loaders and readers already.
    pub fn quiescent(&self) -> Quiescent<'_, C> {
        Quiescent::new(&self.shared, &self.base)
    }

    /// Bytes of memory mapped for rows and versions; rows behind a store are not in it.
    pub fn row_memory_bytes(&self) -> usize {
        self.base.rows.memory().bytes()
    }

    /// What the kernel gave for indexes that are on pages of their own.
    ///
    /// # Errors
    /// When the kernel's report cannot be read.
    pub fn index_memory(&self) -> Result<Mapped, PrimitiveError> {
        let mut mapped = Mapped::default();
        for table in &self.base.tables {
            mapped.add(&table.index.obtained()?);
        }
        Ok(mapped)
    }
}

/// An index that was given. References that somebody has put into it would be taken for rows.
fn empty(
    schema: TableSchema,
    index: BuiltIndex,
    latches: Waiting,
) -> Result<BuiltIndex, TransactionError> {
    let mut entries = 0_u64;
    let mut caller = Caller::new(AnyLockContext::new(latches));
    index.each(&mut caller, &mut |_, _| entries += 1);
    if entries > 0 {
        let text =
            format!("the index for table {} has {entries} entries: give one without", schema.name);
        return Err(TransactionError::Options(text));
    }
    Ok(index)
}

fn check(options: &Options) -> Result<(), TransactionError> {
    let fail = |text: String| Err(TransactionError::Options(text));
    let Options { tables, indexes, workers, .. } = options;
    if tables.is_empty() || tables.len() > 256 {
        return fail(format!("{} tables: there must be 1 to 256", tables.len()));
    }
    if !(1..WORKERS_MAX).contains(workers) {
        return fail(format!("{workers} workers: there must be 1 to {}", WORKERS_MAX - 1));
    }
    if !indexes.is_empty() && indexes.len() != tables.len() {
        let (indexes, tables) = (indexes.len(), tables.len());
        return fail(format!("{indexes} indexes for {tables} tables: give none or one per table"));
    }
    for (place, table) in tables.iter().enumerate() {
        let TableOptions { schema, index, capacity } = table;
        let name = schema.name;
        if usize::from(schema.id.0) != place {
            return fail(format!("table {name} has number {} at place {place}", schema.id.0));
        }
        if schema.row_bytes % 8 != 0 || !(8..=ROW_BYTES_MAX).contains(&schema.row_bytes) {
            let bytes = schema.row_bytes;
            return fail(format!(
                "table {name} has rows of {bytes} bytes: give a multiple of 8 from 8 to \
                 {ROW_BYTES_MAX}"
            ));
        }
        if *index == IndexKind::Hash && *capacity == 0 && indexes.is_empty() {
            return fail(format!("table {name} has a hash index without capacity: give it some"));
        }
    }
    Ok(())
}
