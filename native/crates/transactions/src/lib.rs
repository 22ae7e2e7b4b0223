//! Transactions over tables, with concurrency control as a part that can be swapped.
//!
//! | kind | type | readers | writers | absent keys |
//! |---|---|---|---|---|
//! | no-wait | [`NoWait`] | shared lock in the row | exclusive lock, give up at a taken one | node set |
//! | wait-die | [`WaitDie`] | the same | the same, wait if older than all holders | node set |
//! | optimistic | [`Optimistic`] | write nothing, validated | lock and install at commit | node set |
//! | multi-version | [`MultiVersion`] | a snapshot; validated if they write | first updater wins | node set |
//!
//! All four are serialisable, strictly so: a transaction sees every commit that was acknowledged
//! before it began. They share tables, indexes, row memory, write sets, log and retries, so that a
//! comparison compares concurrency control ("mixing different implementations is inappropriate":
//! Tanabe et al., "An Analysis of Concurrency Control Protocols for In-Memory Databases with
//! CCBench", VLDB 2020). Procedures are written over [`assay_workload::Tables`].
//!
//! ```
//! use assay_index::IndexKind;
//! use assay_primitives::Clock;
//! use assay_transactions::{Database, Optimistic, Options, TableOptions};
//! use assay_workload::tables::{TableId, TableSchema, Tables};
//!
//! let schema = TableSchema { id: TableId(0), name: "accounts", row_bytes: 8 };
//! let table = TableOptions { schema, index: IndexKind::Hash, capacity: 1000 };
//! let database = Database::<Optimistic>::new(Options::new(vec![table], Clock::calibrated()))?;
//! let mut loader = database.load();
//! loader.row(schema.id, 1, &100_u64.to_le_bytes())?;
//! loader.row(schema.id, 2, &0_u64.to_le_bytes())?;
//! drop(loader);
//!
//! let mut worker = database.worker();
//! worker.transact(|tables| {
//!     let mut row = [0; 8];
//!     for (key, change) in [(1, -30_i64), (2, 30)] {
//!         tables.read_for_update(schema.id, key, &mut row)?;
//!         let balance = i64::from_le_bytes(row) + change;
//!         tables.write(schema.id, key, &balance.to_le_bytes())?;
//!     }
//!     Ok(())
//! })?;
//!
//! let mut row = [0; 8];
//! assert!(worker.read_only(|tables| tables.read(schema.id, 2, &mut row))?);
//! assert_eq!(i64::from_le_bytes(row), 30);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **A row** ([`row`]) is a header and words, all relaxed atomics. **Absence** is a matter of the
//! index: misses and scans remember nodes with their versions, in every kind, and commit checks
//! them (Silo's node set). **Rows** live in memory, where a reference is an address and costs
//! nothing to follow, or behind a [`RowStore`]. **Memory** is reused when every worker has begun a
//! later transaction. **The log** gets a transaction's writes while its rows are still held, so log
//! order follows dependencies; [`recover_into`] replays by highest TID per key.
//!
//! **How it is known to be right.** [`checker`] builds the exact graph of dependencies from
//! recorded histories and finds cycles; the tests run it over every kind and index, and `adya`, a
//! checker of another author that sees only what clients see, beside it. Both find the mistakes of
//! [`SeededBug`] (phantoms: the first only). Loom runs the header protocols, and rejects their
//! known-wrong variants. A single thread is compared with the reference tables; TPC-C and trade-desk
//! keep their conditions on many; killed processes recover what they had acknowledged.
//!
//! **What it is not.** No SQL, no types beyond bytes, no isolation level but serialisable, no
//! savepoints, no distributed commit. Locks have no queues and no deadlock detection. There is
//! no checkpoint: recovery replays the whole log over the initial population. Retries are without
//! limit. An optimistic procedure may see rows of different moments before it is told, so it must
//! not loop for ever on what could not be.
//!
//! Sources: Tu et al., "Speedy Transactions in Multicore In-Memory Databases" (Silo, SOSP 2013);
//! Larson et al. (Hekaton, VLDB 2012); Lim et al. (Cicada, SIGMOD 2017); Yu et al., "Staring into
//! the Abyss" (VLDB 2015) and CCBench for no-wait and wait-die; Adya's thesis (MIT 1999) for the
//! graph.

mod base;
pub mod bugs;
pub mod cc;
pub mod checker;
mod core;
mod counts;
mod database;
mod epochs;
mod error;
pub mod history;
mod kind;
mod limbo;
mod loader;
mod options;
mod quiescent;
mod replay;
pub mod row;
mod rows;
mod scans;
pub mod tid;
mod transaction;
mod waits;
mod worker;
mod write_set;

pub use bugs::SeededBug;
pub use cc::multi_version::MultiVersion;
pub use cc::optimistic::Optimistic;
pub use cc::two_phase::{NoWait, WaitDie};
pub use counts::{AbortCounts, WorkerCounts};
pub use database::{ConcurrencyControl, Database};
pub use error::{Abort, Cause, Failure, Full, RowStoreError, TransactionError};
pub use kind::CcKind;
pub use loader::Loader;
pub use options::{Options, TableOptions, Waiting};
pub use quiescent::Quiescent;
pub use replay::recover_into;
pub use rows::{Allocator, MemoryRows, RowStore, Rows, StoredRows};
pub use transaction::Transaction;
pub use worker::Worker;

// The tests' support names this crate as tests in `tests/` do.
#[cfg(all(test, not(feature = "loom")))]
extern crate self as assay_transactions;
#[cfg(all(test, not(feature = "loom")))]
mod seeded;
#[cfg(all(test, not(feature = "loom")))]
#[path = "../tests/support/mod.rs"]
mod support;
