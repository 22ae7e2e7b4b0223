//! The codecs, which know no socket: what they read and write.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod corpus;
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;
mod http;
mod memcached;
mod mysql;
mod postgres;
#[path = "../support/postgres_messages.rs"]
mod postgres_messages;
mod resp;
