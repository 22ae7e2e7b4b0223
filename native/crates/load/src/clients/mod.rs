//! Workloads as clients: one file each.

mod data;
pub mod hits;
mod hits_data;
pub mod http;
pub mod key_value;
pub mod oltp;
mod open;
pub mod script;
pub mod tpcc;
pub mod trade_desk;
pub mod ycsb;
pub mod ycsb_key_value;

pub use open::Open;
