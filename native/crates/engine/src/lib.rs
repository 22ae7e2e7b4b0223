//! The embedded reference engine: an in-memory key-value store made of parts that can be swapped
//! one at a time.
//!
//! A read goes key -> `Index` -> row id -> `DataCache` -> page -> row, and copies the whole record
//! out while holding the row's own lock and a pin on its page. Every lock on the way is of the
//! arm's kind.
//!
//! The parts meet at four seams. `RawLock` (in the primitives), `Index` and `DataCache` are generic
//! parameters, because they sit inside an operation where an indirect call would be a measurable
//! share of it; `Engine` and `Session` are trait objects, called once per batch. `registry` is the
//! only place that turns a choice of parts into types. docs/engine.md says what each part does and
//! what is deliberately absent.

pub mod error;
pub mod index;
mod key_value;
pub mod page;
pub mod parts;
pub mod registry;
mod session;
pub mod transactional;

use core::sync::atomic::AtomicBool;

pub use assay_data_cache::PoolCounts;
use assay_measure::Done;
use assay_primitives::locks::ElisionCounts;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Clock, Contention};
use assay_workload::{Plan, Stream};

pub use error::EngineError;
pub use parts::{DataCacheKind, Elision, Parts};

/// What an engine is made from.
pub struct Configuration<'a> {
    /// The chosen parts.
    pub parts: Parts,
    /// The inputs: sizes and the value pool.
    pub plan: &'a Plan,
    /// How many sessions there will be, loaders included: each keeps one page open for inserts.
    pub sessions: usize,
    /// The clock that stamps completions and waits.
    pub clock: Clock,
}

/// A loaded or loadable store.
pub trait Engine: Send + Sync {
    /// Inserts the initial records with this many threads. Returns early, without an error, when
    /// `stop` becomes true.
    fn load(&self, threads: usize, stop: &AtomicBool) -> Result<(), EngineError>;

    /// A new session; sessions run at the same time on different threads.
    fn session(&self) -> Box<dyn Session + '_>;

    /// What was really built.
    fn selected(&self) -> Selected;

    /// Shows every record that the index reaches, in key order: the key, and the fields, or `None`
    /// for a row that is not that key's or has a field of the wrong size. No session may run.
    fn visit(&self, see: Visitor<'_>);

    /// Checks every record. No session may be running.
    fn state(&self) -> State;

    /// What the kernel gave the arena.
    fn memory(&self) -> Result<Mapped, EngineError>;
}

/// Sees a key and its fields, or `None` for a broken row.
pub type Visitor<'a> = &'a mut dyn FnMut(u64, Option<&[&[u8]]>);

/// One thread's connection to an engine.
pub trait Session: Send {
    /// Carries out so many operations, and appends the end of each; kinds are those of the mix.
    fn execute(
        &mut self,
        stream: &mut Stream,
        operations: usize,
        done: &mut Vec<Done>,
    ) -> Result<(), EngineError>;

    /// What this session has met so far.
    fn counts(&self) -> SessionCounts;
}

/// Contention by lock class, and dose counters, of one session.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionCounts {
    /// Index shard locks.
    pub index: Contention,
    /// Data cache locks.
    pub data_cache: Contention,
    /// Row locks.
    pub row: Contention,
    /// Data cache look-ups: hits and misses, and what came of the misses.
    pub pool: PoolCounts,
    /// Elisions at index shard locks.
    pub index_elision: ElisionCounts,
    /// Elisions at data cache locks.
    pub data_cache_elision: ElisionCounts,
    /// Elisions at row locks.
    pub row_elision: ElisionCounts,
    /// Operations carried out, the extra, uncounted ones included.
    pub executed: u64,
}

/// What was really built, as opposed to what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Selected {
    /// The distance between two neighbouring index locks, from their addresses.
    pub lock_stride_bytes: usize,
    /// Data cache partitions; 1 for the one-lock cache, 0 for those without locks.
    pub cache_partitions: usize,
    /// Pages that the data cache has room for.
    pub cache_pages: usize,
    /// The data cache look-up that sessions call.
    pub data_cache_lookup: Address,
    /// The waiting function that all locks call.
    pub lock_slow: Address,
}

/// The state after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Records that the index reaches.
    pub records: u64,
    /// Whether each of them has its key, its field sizes and whole values, and none is missing.
    pub is_sound: bool,
}
