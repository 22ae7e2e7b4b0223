//! Servers of RESP2.

pub mod echo;
