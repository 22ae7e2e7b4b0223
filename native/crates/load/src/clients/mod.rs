//! Workloads as clients: one file each.

mod data;
pub mod hits;
mod hits_data;
pub mod http;
pub mod oltp;
mod open;
pub mod redis;
pub mod tpcc;
pub mod trade_desk;
pub mod ycsb;
pub mod ycsb_redis;

pub use open::Open;
