//! Seeded workload inputs: which operation, on which key, with which value.
//!
//! Everything random is drawn before the timed loop, because one Zipf draw takes a `pow` that costs
//! as much as a whole read of a fast engine. The same seed gives the same inputs on every target:
//! this crate knows key numbers and values, and no engine, server or protocol.

pub mod error;
pub mod hash;
pub mod keys;
pub mod random;
pub mod stream;
pub mod values;
pub mod ycsb;
pub mod zipf;

pub use error::WorkloadError;
pub use keys::KeySpace;
pub use stream::{Plan, Stream};
pub use values::Values;
pub use ycsb::{Chooser, Mix, Operation, OperationKind, Parameters};
