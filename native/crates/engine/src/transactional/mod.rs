//! The transactional half of the engine: tables with an index, concurrency control, rows in pages
//! behind named caches or in memory, and a log, each of them a choice.
//!
//! ```text
//! request -> procedure -> transaction (concurrency control) -> index -> reference
//!                                |                                        |
//!                                +-> log                    named cache -> page -> row
//! ```
//!
//! A [`Job`] is the workload, [`build`] puts it on the chosen parts, [`TransactionalEngine`] is
//! what a driver sees. Concurrency control is the only type parameter that multiplies code; indexes,
//! caches and rows are reached through one indirect call for each operation, which is lost in it.

mod build;
pub mod combinations;
mod job;
pub mod jobs {
    //! The workloads that can be run.
    pub use super::tpcc::Tpcc;
    pub use super::trade_desk::{Report, TradeDesk};
    pub use super::ycsb::Ycsb;
}
mod paged;
mod parts;
mod running;
mod terminals;
mod tpcc;
mod trade_desk;
mod ycsb;

pub use build::{Built, Setting, build};
pub use combinations::{CcChoice, Combination, Demand, IndexChoice, Store};
pub use job::{Job, Sink, Taken};
pub use paged::{CACHES, CacheCounts, NamedCaches};
pub use parts::TransactionalParts;
pub use running::{TransactionalCounts, TransactionalEngine, TransactionalSession};
