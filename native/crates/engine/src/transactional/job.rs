//! What the transactional engine is asked to do: tables, their first rows, and requests.
//!
//! A job is a workload as the engine sees it. It names no index and no concurrency control: `run`
//! is generic over the tables, so that one procedure meets every combination of parts.

use std::time::Duration;

use assay_workload::tables::{TableId, TableSchema, Tables};

use crate::EngineError;

/// Takes the rows of a load.
pub type Sink<'a> = dyn FnMut(TableId, u64, &[u8]) -> Result<(), EngineError> + 'a;

/// One request of one terminal.
#[derive(Clone, Debug)]
pub struct Taken<I> {
    /// What is to be done.
    pub input: I,
    /// Its place in `Job::kinds`.
    pub kind: usize,
    /// Whether it writes nothing.
    pub is_read_only: bool,
    /// The wait before it (TPC-C calls it keying).
    pub before: Duration,
    /// The wait after it.
    pub after: Duration,
}

/// A workload that can be run on tables.
pub trait Job: Send + Sync {
    /// The source of one terminal's requests.
    type Terminal: Send;
    /// One request.
    type Input: Send + Clone;
    /// How many requests are taken at a time, to fetch their rows ahead (`first_row`).
    const AHEAD: usize = 1;

    /// Every table, at the place of its number.
    fn tables(&self) -> &[TableSchema];

    /// How many rows a table may hold by the end of the run.
    fn capacity(&self, table: TableId) -> usize;

    /// Whether a table belongs to the catalogue, and so to the cache of system tables.
    fn is_system(&self, _table: TableId) -> bool {
        false
    }

    /// The tables that are scanned, and so need an index with order.
    fn is_scanned(&self, table: TableId) -> bool;

    /// The names of the kinds of request.
    fn kinds(&self) -> &[&'static str];

    /// How many pieces the load can be cut into.
    fn pieces(&self) -> usize;

    /// Gives the rows of one piece to `sink`.
    fn load(&self, piece: usize, sink: &mut Sink<'_>) -> Result<(), EngineError>;

    /// How many terminals there are; without waits, one for each thread is enough.
    fn terminals(&self, threads: usize) -> usize;

    /// The requests of one terminal.
    fn terminal(&self, number: usize) -> Self::Terminal;

    /// A terminal's next request.
    fn take(&self, terminal: &mut Self::Terminal) -> Result<Taken<Self::Input>, EngineError>;

    /// The one row that a request will certainly look up, for fetching ahead.
    fn first_row(&self, _input: &Self::Input) -> Option<(TableId, u64)> {
        None
    }

    /// Carries out a request inside a transaction. `scratch` is the session's own memory.
    fn run<T: Tables>(
        &self,
        tables: &mut T,
        input: &Self::Input,
        scratch: &mut Vec<u8>,
    ) -> Result<(), T::Abort>;

    /// Told when a request has committed.
    fn committed(&self, _input: &Self::Input) {}

    /// What is wrong with the tables while nobody writes, in words; empty when all is well.
    fn faults<T: Tables>(&self, tables: &mut T) -> Result<Vec<String>, T::Abort>;
}
