//! sysbench's tests on real servers: their tables, their events.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod events;
#[path = "../support/mod.rs"]
mod support;
mod tables;
