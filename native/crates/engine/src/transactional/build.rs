//! From parts and a job to an engine: the only place that names the kinds of concurrency control.

use std::path::Path;
use std::sync::Arc;

use assay_data_cache::rows::{self, NamedCache};
use assay_data_cache::{CacheLock, PagedRows, TableShape};
use assay_index::{BuiltIndex, IndexKind};
use assay_log::{Log, LogMode};
use assay_primitives::locks::Waiting;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Arena, Clock};
use assay_transactions::{
    CcKind, ConcurrencyControl, Database, MemoryRows, MultiVersion, NoWait, Optimistic, Options,
    Rows, TableOptions, WaitDie,
};
use assay_workload::tables::TableSchema;

use super::combinations::Store;
use super::job::Job;
use super::paged::{CACHES, NamedCaches, Place};
use super::parts::TransactionalParts;
use super::running::{Running, TransactionalEngine};
use crate::{Elision, EngineError};

/// What a run is, beside its parts.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Worker threads.
    pub threads: usize,
    /// Whether users wait between their requests.
    pub has_waits: bool,
    /// Stamps ends and times waits.
    pub clock: Clock,
    /// Where the log's file is made. It is removed at once and exists until the engine is dropped.
    pub log_folder: &'a Path,
}

/// An engine, and what a result says about it.
pub struct Built {
    /// The engine.
    pub engine: Box<dyn TransactionalEngine>,
    /// The caches, where any table is in pages.
    pub caches: Option<Arc<NamedCaches>>,
    /// The memory of rows, where any table is in memory.
    memory: MemoryRows,
    /// The look-up of the trees or tables, past any hash cache.
    pub index_find: Address,
    /// The waiting function that cache locks call; latches call the same unless cache locks are
    /// elided.
    pub lock_slow: Address,
}

impl Built {
    /// What the kernel gave to rows, pages, caches, and indexes that are on pages.
    pub fn memory(&self) -> Result<Mapped, EngineError> {
        let mut mapped = self.memory.obtained()?;
        mapped.add(&self.engine.index_memory()?);
        if let Some(caches) = &self.caches {
            mapped.add(&caches.arena().obtained()?);
        }
        Ok(mapped)
    }
}

/// Builds an empty engine of the chosen parts.
pub fn build<J: Job + 'static>(
    parts: &TransactionalParts,
    job: J,
    setting: Setting<'_>,
) -> Result<Built, EngineError> {
    match parts.cc {
        CcKind::NoWait => with_cc::<NoWait, J>(parts, job, setting),
        CcKind::WaitDie => with_cc::<WaitDie, J>(parts, job, setting),
        CcKind::Optimistic => with_cc::<Optimistic, J>(parts, job, setting),
        CcKind::MultiVersion => with_cc::<MultiVersion, J>(parts, job, setting),
    }
}

/// Sessions and loaders at the same time, and one for the check.
fn workers(threads: usize) -> usize {
    2 * threads + 1
}

fn with_cc<C: ConcurrencyControl, J: Job + 'static>(
    parts: &TransactionalParts,
    job: J,
    setting: Setting<'_>,
) -> Result<Built, EngineError> {
    let Setting { threads, has_waits, clock, log_folder } = setting;
    let cache_lock_slow = cache_waiting(parts, clock)?.address();
    let tables: Vec<TableOptions> =
        job.tables().iter().map(|it| options(it, parts, &job)).collect();
    let memory = MemoryRows::new(parts.pages);
    let in_memory = bytes_in_memory(parts, &job, Database::<C>::HEADER_BYTES);
    memory.reserve(in_memory + in_memory / 8, threads)?;
    let caches = named_caches(parts, &job, Database::<C>::HEADER_BYTES, &memory, clock)?;
    let log = open_log(parts.log, log_folder, clock)?;
    let rows = match &caches {
        Some(caches) => {
            Rows::Store { store: Box::new(Arc::clone(caches)), versions: memory.clone() }
        }
        None => Rows::Memory(memory.clone()),
    };
    let (indexes, index_find) = indexes(parts, &tables)?;
    let database = Database::<C>::new(Options {
        indexes,
        lock: parts.lock,
        waiting: assay_transactions::Waiting { hint: parts.hint, limit: parts.spin_limit },
        log: log.clone(),
        rows,
        workers: workers(threads),
        ..Options::new(tables, clock)
    })?;
    let running =
        Running { job, database, log, threads, has_waits, repeat_every: parts.repeat_every, clock };
    let engine = Box::new(running);
    Ok(Built { engine, caches, memory, index_find, lock_slow: cache_lock_slow })
}

fn options(schema: &TableSchema, parts: &TransactionalParts, job: &impl Job) -> TableOptions {
    // What is scanned needs an order.
    let index = match parts.index {
        IndexKind::Hash if job.is_scanned(schema.id) => IndexKind::Optimistic,
        kind => kind,
    };
    TableOptions { schema: *schema, index, capacity: job.capacity(schema.id) }
}

/// What the rows of tables in memory will take, where it can be foreseen.
fn bytes_in_memory(parts: &TransactionalParts, job: &impl Job, header_bytes: usize) -> usize {
    let in_memory =
        job.tables().iter().filter(|it| parts.store == Store::Memory && !job.is_system(it.id));
    in_memory.map(|it| job.capacity(it.id) * (it.row_bytes + header_bytes)).sum()
}

/// Tables in pages: all of them, or the system tables alone.
fn named_caches(
    parts: &TransactionalParts,
    job: &impl Job,
    header_bytes: usize,
    memory: &MemoryRows,
    clock: Clock,
) -> Result<Option<Arc<NamedCaches>>, EngineError> {
    let (mut shapes, mut places) = (Vec::new(), Vec::new());
    for schema in job.tables() {
        let is_system = job.is_system(schema.id);
        if parts.store == Store::Memory && !is_system {
            places.push(Place::Memory);
            continue;
        }
        places.push(Place::Pages(shapes.len()));
        shapes.push(TableShape {
            row_bytes: schema.row_bytes + header_bytes,
            capacity: job.capacity(schema.id),
            cache: usize::from(is_system),
        });
    }
    if shapes.is_empty() {
        return Ok(None);
    }
    let (partitions, padding) = (parts.cache_partitions, parts.padding);
    let kinds = [parts.data_cache, parts.system_cache];
    let named: Vec<NamedCache> = CACHES
        .iter()
        .zip(kinds)
        .map(|(name, kind)| NamedCache { name, kind, partitions, padding })
        .collect();
    let lock = CacheLock { kind: parts.lock, is_elided: parts.elision == Elision::On };
    let waiting = cache_waiting(parts, clock)?;
    let arena = Arena::new(rows::arena_bytes_with(&shapes, &named, lock), parts.pages)?;
    let rows = PagedRows::new(&shapes, &named, lock, waiting, &arena)?;
    Ok(Some(Arc::new(NamedCaches::new(places, rows, memory, waiting, arena))))
}

/// How the locks of data caches are waited for. Refuses elision that cannot be.
fn cache_waiting(parts: &TransactionalParts, clock: Clock) -> Result<Waiting, EngineError> {
    let (retries, limit) = (parts.elision_retries, parts.spin_limit);
    parts.elision.waiting(parts.lock, parts.hint, limit, retries, clock)
}

/// A file that nobody else can find: the run that made it is the only one to read it.
fn open_log(mode: LogMode, folder: &Path, clock: Clock) -> Result<Option<Arc<Log>>, EngineError> {
    if mode == LogMode::None {
        return Ok(None);
    }
    let path = folder.join(format!("assay-log-{}", std::process::id()));
    let log = Log::create(&path, mode, assay_log::Options::new(clock))?;
    std::fs::remove_file(&path).map_err(|source| EngineError::LogFile { path, source })?;
    Ok(Some(Arc::new(log)))
}

/// Entries of a hash cache: at most this many, and no more than there are keys.
const HASH_CACHE_ENTRIES: usize = 1 << 18;

/// One index per table, and what looks a key up in those of the kind that was asked for.
fn indexes(
    parts: &TransactionalParts,
    tables: &[TableOptions],
) -> Result<(Vec<BuiltIndex>, Address), EngineError> {
    let built = tables.iter().map(|table| {
        let (kind, capacity) = (table.index, table.capacity);
        if parts.hash_cache {
            let entries = capacity.next_power_of_two().min(HASH_CACHE_ENTRIES);
            return Ok(assay_index::build_cached(kind, parts.lock, entries)?);
        }
        Ok(assay_index::build_on_pages(kind, parts.lock, capacity, parts.pages)?)
    });
    let built = built.collect::<Result<Vec<BuiltIndex>, EngineError>>()?;
    // Tables that are scanned have an order, whatever was asked for.
    let asked = tables.iter().position(|table| table.index == parts.index).unwrap_or_default();
    let find = built[asked].look_up();
    Ok((built, find))
}
