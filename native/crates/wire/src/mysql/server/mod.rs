//! The server's half: [`requests`] in, [`packets`] out, without I/O. For stand-ins and tests; real
//! servers do far more.

pub mod packets;
pub mod requests;
