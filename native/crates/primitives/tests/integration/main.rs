//! The tests of what the crate offers, in one binary: a module for each thing.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod atomics;
mod crc32c;
mod elision;
mod kinds;
mod locks;
mod pages;
mod witness;
