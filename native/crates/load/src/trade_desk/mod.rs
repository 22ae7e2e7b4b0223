//! The trade-desk lowered to SQL, for MariaDB, MySQL and PostgreSQL.
//!
//! What happens is decided in `assay_workload::trade_desk`: the rows, the inputs, the procedures,
//! the invariants. This module says it in SQL, over any [`assay_wire::sql::Session`], so that the
//! same seed leaves the same rows in a server as in the embedded engine and in the slow twin.
//!
//! | module | what |
//! |---|---|
//! | [`schema`] | tables, keys and the index in both dialects |
//! | [`mod@load`] | the initial rows, by INSERT of many rows |
//! | [`statements`] | the prepared statements, all of them |
//! | [`procedures`] | the actions; [`Desk`] runs them |
//! | [`mod@final_state`] | every row, as the slow twin keeps it; the invariants compare these |
//!
//! # How the actions are said
//!
//! * Money is BIGINT cents. What a user's action made has one number, user and sequence, as in the
//!   workload. The open orders are a table, as there: a queue that rows enter and leave.
//! * The default isolation of the server is kept. A trade locks in the order: the open order, the
//!   order, then both accounts' cash and positions by account, and decides by what it has locked. A
//!   look at one moment is one statement, which is a snapshot of its own, without BEGIN.
//! * To place and to cancel, what the decision needs is read before BEGIN. Nothing is lost by that:
//!   a placed order promises nothing (the trade that fills it checks again under locks), and a
//!   cancellation goes on only when it was the one that removed the open order. If it was not, it
//!   begins again, as a conflict.
//! * A refusal is an outcome: it commits, and counts as an operation.
//! * The statements are the same for all servers, but for `STRAIGHT_JOIN`, `DIV` and the words of
//!   temporary tables.
//!
//! # The catalogue
//!
//! The embedded engine plays the catalogue in rows of ordinary tables. A server has a real one, so
//! the dial makes and drops a real temporary table of as many columns. Each is a request of its
//! own, outside any transaction, as in the engine. Inside one it would not be the same thing on
//! both: PostgreSQL keeps the catalogue's locks until the end and undoes the table with the
//! transaction; MariaDB and MySQL neither commit at it nor undo it, so that a second try after a
//! deadlock would find the table there. All sessions use one name: temporary tables are a
//! session's own. What the workload's tables of the catalogue would hold is therefore not compared.
//!
//! Round trips, BEGIN and COMMIT included (a refusal in brackets):
//!
//! | action | round trips |
//! |---|---|
//! | place | 5 (1) |
//! | trade | 11 (3, or 4 when cash or holdings are short; 6 when the owner's are) |
//! | cancel | 5 (1) |
//! | portfolio, depth | 1 |
//! | making, dropping a temporary table | 1 |

mod error;
pub mod final_state;
pub mod load;
pub mod procedures;
pub mod schema;
pub mod statements;

pub use error::DeskError;
pub use procedures::{Desk, Ending};
