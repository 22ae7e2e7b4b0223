//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod a64;
#[path = "../../../../fuzz/src/census.rs"]
mod census;
mod description;
mod odd;
mod support;
mod x64;
