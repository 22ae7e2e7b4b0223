//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "../support/authority.rs"]
mod authority;
mod event_loop;
mod tls;
