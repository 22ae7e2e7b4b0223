//! Seeded workload inputs: which operation, on which key, with which value.
//!
//! Everything random in YCSB is drawn before the timed loop, because one Zipf draw takes a `pow`
//! that costs as much as a whole read of a fast engine; the inputs of transactions are drawn as
//! they are taken, being cheap beside a transaction. The same seed gives the same inputs on every
//! target: this crate knows key numbers, rows and values, and no engine, server or protocol.
//!
//! Transaction procedures are written here too, once, over the trait [`Tables`];
//! [`mod@reference`] is the slow obvious twin of an engine that runs them.

pub mod error;
pub mod hash;
pub mod hits;
pub mod key_text;
pub mod keys;
pub mod oltp;
pub mod reference;
pub mod script;
pub mod stream;
pub mod tables;
pub mod tpcc;
pub mod trade_desk;
pub mod values;
pub mod ycsb;
pub mod zipf;

pub use error::WorkloadError;
pub use key_text::KeyText;
pub use keys::KeySpace;
pub use stream::{Plan, Stream};
pub use tables::Tables;
pub use values::Values;
pub use ycsb::{Chooser, Mix, Operation, OperationKind, Parameters};
