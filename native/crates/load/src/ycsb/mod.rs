//! YCSB A to F over SQL, and over RESP.
//!
//! ```text
//! sql::create -> sql::load, by as many sessions as there are parts      once
//! sql::Statements::prepare -> sql::run, sql::run, ...                   in each session
//! ```
//!
//! Sources: YCSB's JDBC and Redis bindings (brianfrankcooper/YCSB at d9faaac): the table, the texts
//! of keys, whole records read, one field written, scans by key order, a read-modify-write as two
//! requests without a transaction. What is drawn is `assay_workload`'s, which says how it relates
//! to YCSB.
//!
//! | module | what |
//! |---|---|
//! | [`sql`] | over any SQL session |
//! | [`resp`] | the bytes of commands, for Redis and its like |

pub mod error;
pub mod resp;
pub mod sql;

pub use assay_workload::KeyText;
pub use error::YcsbError;
