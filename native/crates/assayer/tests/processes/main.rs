//! The binary as its callers see it: one request in, an exit code and messages out.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod census;
#[cfg(target_arch = "x86_64")]
mod entered;
mod errors;
mod hits;
mod life;
mod memcached;
#[path = "../../../wire/tests/support/memcached_server.rs"]
mod memcached_server;
mod object;
#[path = "../../../wire/tests/support/process.rs"]
mod process;
mod profile;
mod protocol;
mod runs;
mod sample;
mod serve;
mod slices;
mod store;
mod support;
