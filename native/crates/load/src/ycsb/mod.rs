//! YCSB A to F over SQL, RESP and memcached's protocol.
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
//! | [`resp`] | a hash per record, for Redis and its like |
//! | [`memcached`] | a value per record |

pub mod error;
pub mod memcached;
pub mod records;
pub mod resp;
pub mod sql;

pub use assay_workload::KeyText;
pub use error::YcsbError;
pub use records::{Records, Shape};
