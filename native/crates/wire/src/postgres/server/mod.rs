//! The server's half: [`requests`] in, [`replies`] out, without I/O. For stand-ins and tests; real
//! servers do far more.

pub mod replies;
pub mod requests;
