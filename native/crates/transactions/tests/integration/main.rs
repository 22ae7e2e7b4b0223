//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[macro_use]
#[path = "../support/mod.rs"]
mod support;
mod behaviour;
mod black_box;
mod durability;
#[path = "../support/lists.rs"]
mod lists;
mod model;
#[path = "../support/pages.rs"]
mod pages;
mod row_store;
mod serialisable;
#[path = "../support/stress.rs"]
mod stress;
mod tpcc;
mod trade_desk;
