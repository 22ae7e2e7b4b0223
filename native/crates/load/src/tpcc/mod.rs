//! TPC-C lowered to SQL, for MariaDB, MySQL and PostgreSQL.
//!
//! What happens is decided in `assay_workload::tpcc`: the rows, the inputs, the profiles, the
//! conditions. This module says it in SQL, over any [`assay_wire::sql::Session`], so that the same
//! seed leaves the same rows in a server as in the embedded engine and in the slow twin.
//!
//! | module | what |
//! |---|---|
//! | [`schema`] | tables, keys and indexes in both dialects |
//! | [`mod@load`] | the initial rows, by INSERT of many rows |
//! | [`statements`] | the prepared statements of the five transactions |
//! | [`answers`] | what a stand-in without data answers to them |
//! | [`procedures`] | the five transactions; [`Terminal`] runs them |
//! | [`mod@census`] | what the consistency conditions compare |
//! | [`mod@final_state`] | every row, as the slow twin keeps it |
//!
//! # How the transactions are said
//!
//! * Money is BIGINT cents, rates are ten-thousandths, dates are the numbers of the inputs, and
//!   zero stands for null, as in the workload. HISTORY has the workload's key (H_WRITER, H_SEQ).
//! * The default isolation of the server is kept for the three transactions that write (READ
//!   COMMITTED in PostgreSQL, REPEATABLE READ in MariaDB): every row that they change or decide by
//!   is locked when it is read. The two that only read run on one snapshot.
//! * What remains: in PostgreSQL a Delivery that finds a district without a waiting order takes no
//!   lock on that absence (InnoDB locks the gap). An order that comes at that moment waits for the
//!   next Delivery; no condition depends on it.
//! * Rows of one order are asked for together: items and stock by `IN` lists, whose lengths are
//!   rounded up (see [`statements`]), order lines by one INSERT of many rows, the ten districts of
//!   a Delivery by one statement per table after the ten removals from NEW-ORDER.
//!
//! Round trips, BEGIN and COMMIT included, for a customer chosen by number and one supplying
//! warehouse (each further one costs two; a last name costs one):
//!
//! | transaction | PostgreSQL | MariaDB | MySQL |
//! |---|---|---|---|
//! | New-Order | 10 | 11 | 11 |
//! | Payment | 6 | 7 | 7 |
//! | Order-Status | 5 | 5 | 5 |
//! | Delivery | 15 | 17 | 27 |
//! | Stock-Level | 4 | 4 | 4 |

pub mod answers;
pub mod census;
mod error;
pub mod final_state;
mod insert;
pub mod load;
pub mod procedures;
mod quote;
pub mod schema;
pub mod statements;
mod texts;

pub use error::TpccError;
pub use procedures::{Ending, Terminal};
