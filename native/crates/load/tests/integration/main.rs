//! Stations of connections, against servers made here.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod http;
mod station;
