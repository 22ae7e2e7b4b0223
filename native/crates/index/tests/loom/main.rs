//! Models that loom explores: both trees, their merges, and the hash cache.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod hash_cache;
mod merges;
#[path = "../support/mod.rs"]
mod support;
mod trees;
