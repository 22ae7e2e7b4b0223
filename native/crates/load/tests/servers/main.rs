//! Workloads on real servers and on stand-ins, in one binary: its tests share the servers.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

#[path = "../../../wire/tests/support/allocations.rs"]
mod allocations;
mod hits;
mod oltp;
mod oltp_allocations;
mod oltp_counts;
mod oltp_sysbench;
#[path = "../../../workload/tests/support/shares.rs"]
mod shares;
mod support;
mod tpcc;
mod tpcc_memory;
mod tpcc_stand_in;
mod trade_desk;
mod trade_desk_allocations;
mod ycsb_memcached;
mod ycsb_resp;
mod ycsb_sql;
