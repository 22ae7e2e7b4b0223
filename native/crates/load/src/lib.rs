//! Load on servers.
//!
//! A workload is lowered to a [`Client`]: what one connection does next. A [`Station`] is one
//! worker's connections and their arrivals; it drives clients and hands out what ended. How that is
//! recorded, and which process it runs in, is not known here.

pub mod arrivals;
pub mod client;
pub mod clients;
mod columns;
pub mod data;
pub mod hits;
pub mod key_value;
pub mod oltp;
pub mod refusals;
pub mod station;
pub mod tpcc;
pub mod trade_desk;
pub mod ycsb;

pub use arrivals::{Arrivals, Rate};
pub use client::{Carried, Client, Error, Retries};
pub use refusals::{Refusal, Refusals};
pub use station::{Ended, Station, Totals};
