//! sysbench's OLTP tests over SQL.
//!
//! ```text
//! create -> load, by as many sessions as there are parts -> finish      once
//! Statements::prepare -> run_event, run_event, ...                      in each session
//! ```
//!
//! The tables are those of sysbench 1.0.20, column by column; the index on `k` is made after
//! loading. Prepared are the statement kinds that a test uses, for every table, before the first
//! event, as sysbench does. An event is sent statement by statement, each after the answer to the
//! one before: that is the workload. What is counted is what sysbench counts, except that a write
//! which changed no row is a write here, where sysbench calls it `other`.
//!
//! After an error that a workload has to live with (deadlock, row changed by somebody else, lock
//! not had in time, and on PostgreSQL the duplicate key that two transactions replacing one row
//! give) the event is over and the next one starts. The same as sysbench, with one difference:
//! sysbench sends MySQL and MariaDB no ROLLBACK, so that after a lock timeout, which undoes one
//! statement only, its next BEGIN commits half an event; here every such event is rolled back.

mod error;
mod event;
mod load;
mod schema;
mod statements;

pub use error::OltpError;
pub use event::{Counts, Outcome, run_event};
pub use load::{create, finish, load};
pub use schema::{create_index, create_table, drop_table};
pub use statements::Statements;
