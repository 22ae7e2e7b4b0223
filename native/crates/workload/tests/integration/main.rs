//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod hits;
mod oltp;
#[path = "../support/shares.rs"]
mod shares;
#[path = "../support/mod.rs"]
mod support;
mod tpcc;
mod tpcc_inputs;
mod trade_desk;
mod ycsb;
mod ycsb_shares;
