//! Trade-desk: users trade instruments, and a dial adds contention on the catalogue.
//!
//! This is Assay's own design. It is modelled on what can be inferred from a published "trading
//! simulation" of a server (many users in closed loops, one wait for trades and another for
//! requests, most contention on the cache of system tables) and is not that simulation.
//!
//! A user places orders, trades against the oldest open order of an instrument, cancels, and looks
//! at a portfolio or at the depth of a book. Instruments are chosen by Zipf, so a few quotes are
//! hot. With the probability of the catalogue dial an action is wrapped in the creation and the
//! drop of a temporary table, each a transaction of its own: both update the one row that counts
//! the catalogue's objects, and add or remove a row per object and per column. A second dial follows
//! actions with a report, a query over past prices that are in no table of the desk.
//!
//! The parameters of the publication: 800 users with waits of 1000 ms after a trade and 500 ms
//! after a request, then with 50 ms after both. Accounts and instruments are numbers without rows.
//!
//! What it is not: the catalogue is rows of ordinary tables, not an engine's own; there is no
//! matching by price (an order is filled whole, at its own price, by whoever asks); money and
//! instruments only move between accounts, which is what makes the invariants exact.
//!
//! | module | what |
//! |---|---|
//! | [`rows`] | packed keys, row codecs, the list of tables |
//! | [`inputs`] | parameters, initial rows, requests with their waits |
//! | [`procedures`] | the transactions over any [`crate::tables::Tables`] |
//! | [`invariants`] | what must hold whenever nobody writes |

pub mod inputs;
pub mod invariants;
pub mod procedures;
pub mod rows;

pub use inputs::{Input, Kind, Parameters, Placement, Plan, Request, Stream};
pub use invariants::{Ledger, Violation, check};
pub use procedures::{Outcome, run};
pub use rows::TABLES;
