//! Servers that cost little, for tests and benchmarks of load generators.
//!
//! They answer what such a client asks, always the same: a client is limited by itself or by the
//! machine, and by no server's work. Each is a future for a task of an `assay_runtime::Worker`; it
//! gives an error when no more connections can be accepted, and otherwise runs until the worker
//! stops. Several workers may serve one port: bind a listener to it in each.
//!
//! Not for networks that are not one's own: nothing is authenticated or limited.

pub mod http;
pub mod memcached;
pub mod resp;
pub mod serve;
pub mod sql;
pub mod stall;
