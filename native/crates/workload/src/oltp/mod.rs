//! sysbench's OLTP tests: parameters, rows, events. No SQL here, and no server.
//!
//! The same as sysbench 1.0.20 (GPL; described from its documentation and from what it sends to a
//! server, never from its text): the five tests and their defaults, which statements an event has
//! and in which order, one table per group of statements and an id per statement, the shapes of
//! the strings, the four distributions of 1.0.20. `zipfian` is of the versions after it.
//!
//! Different, and why:
//! * A row of the initial tables is a function of seed, table and id, so that any part of any
//!   table can be loaded by anybody in any order.
//! * Ids are explicit where sysbench leaves them to the server's counter, for the same reason.
//!
//! | module | what |
//! |---|---|
//! | [`parameters`] | the tests and what they may be told |
//! | [`distribution`] | how ids are drawn |
//! | [`zipfian`] | rejection-inversion |
//! | [`text`] | the columns `c` and `pad` |
//! | [`rows`] | the initial tables |
//! | [`event`] | what an event consists of |
//! | [`stream`] | draws events from the seed |

pub mod distribution;
pub mod event;
pub mod parameters;
pub mod rows;
pub mod stream;
pub mod text;
pub mod zipfian;

pub use distribution::{Distribution, Sampler};
pub use event::{Event, Statement};
pub use parameters::{Parameters, Test};
pub use rows::Row;
pub use stream::{Plan, Stream};
