//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod hash_cache;
mod merges;
mod model;
mod node_sets;
mod stress;
#[path = "../support/mod.rs"]
mod support;
