//! Servers of HTTP/1.1 that answer `GET` and `HEAD`.

pub mod file_server;
pub mod proxy;
pub mod request;
