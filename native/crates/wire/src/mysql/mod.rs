//! MySQL's client/server protocol 4.1, as MariaDB and MySQL speak it.
//!
//! Sources: the protocol pages of MySQL's source documentation and of MariaDB's knowledge base.
//!
//! | module | job |
//! |---|---|
//! | [`bytes`] | numbers and strings as the protocol writes them |
//! | [`codec`] | packets out of a stream of bytes, and into one |
//! | [`packets`] | greeting, login, OK, ERR and what else is not a row |
//! | [`auth`] | the answers of the authentication methods |
//! | [`public_key`] | a password under the server's RSA key |
//! | [`answer`] | which packet follows which in an answer |
//! | [`rows`] | columns and binary rows |
//! | [`values`] | parameters of prepared statements |
//! | [`server`] | the other half, for stand-ins |
//! | [`session`] | all of it over a connection; `login`, `pipeline` and `texts` are parts of it |
//!
//! Of `MariaDB` the session takes up the offer not to repeat the columns of a prepared statement
//! (`MARIADB_CLIENT_CACHE_METADATA`): an answer to a point read is then three short packets.

pub mod answer;
pub mod auth;
pub mod bytes;
pub mod codec;
mod login;
pub mod packets;
mod pipeline;
pub mod public_key;
pub mod rows;
pub mod server;
pub mod session;
mod texts;
pub mod values;

pub use rows::Row;
pub use session::{Features, Session};

use crate::WireError;

/// An error that says that the server, or the caller, broke the protocol.
pub(crate) fn protocol(what: impl Into<String>) -> WireError {
    WireError::Protocol { protocol: "MySQL", what: what.into() }
}
