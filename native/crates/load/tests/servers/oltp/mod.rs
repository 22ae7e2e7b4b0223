//! sysbench's tests on real servers: their tables, their events.

mod events;
mod tables;
