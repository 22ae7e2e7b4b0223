//! TPC-C: database, inputs, procedures and consistency conditions.
//!
//! Source: TPC Benchmark C, Standard Specification, revision 5.11 (facts only; clauses are named
//! where they decide something). The nine tables, their cardinalities and population, NURand with
//! its constants, the five transactions and their profiles, keying and think times, and the twelve
//! consistency conditions of clause 3.3.2 follow it.
//!
//! What this is not: a TPC-C result. There are no terminals, no screens, no audit, no pricing, and
//! whoever runs without waits must print that efficiency against 12.86 tpmC per warehouse does not
//! apply. Deviations from the specification:
//!
//! * Delivery runs at once as one transaction over all ten districts; there is no queue and no
//!   result file. A district without a new order is skipped and counted.
//! * Money is whole cents, rates are ten-thousandths, dates are numbers (see [`inputs`]), null is
//!   zero, and texts are padded with zero bytes to their largest length.
//! * HISTORY has a key (see [`keys`]); two secondary indexes are tables of their own, and the one
//!   by last name is keyed by the number of the name.
//! * Procedures return the few results that tests compare, not the whole terminal output; they
//!   read whole rows, so every column shown on a terminal has been read.
//! * The selection by weights and the drawn home warehouse are options (see [`Selection`],
//!   [`Home`]).
//! * [`Scale::small`] is for tests and says that it is not TPC-C's scale.
//!
//! | module | what |
//! |---|---|
//! | [`scale`] | parameters |
//! | [`keys`], [`rows`] | packed keys, row codecs, the list of tables |
//! | [`draws`] | NURand, strings, last names |
//! | [`population`] | the initial rows |
//! | [`inputs`] | what each transaction is told, with its waits |
//! | [`stream`] | draws them from the seed |
//! | [`procedures`] | the five transactions over any [`crate::tables::Tables`] |
//! | [`consistency`] | the twelve conditions |

pub mod consistency;
pub mod draws;
pub mod inputs;
pub mod keys;
pub mod population;
pub mod procedures;
pub mod rows;
pub mod scale;
pub mod stream;

pub use consistency::{Census, Violation, check_after_loading, check_after_running};
pub use inputs::{Input, Kind, Request};
pub use procedures::{Outcome, run};
pub use rows::TABLES;
pub use scale::{Home, Parameters, Scale, Selection};
pub use stream::{Plan, Stream};
