//! The trade-desk in PostgreSQL and MariaDB: the same seed leaves the same rows as in the slow twin.
//!
//! The servers are real and private to this process; the sessions are ours.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod breaking;
mod crowds;
mod cut;
mod desks;
mod final_state;
#[path = "../support/mod.rs"]
mod support;
