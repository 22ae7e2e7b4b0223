//! The trade-desk in PostgreSQL and MariaDB: the same seed leaves the same rows as in the slow twin.
//!
//! The servers are real and private to this process; the sessions are ours.

mod breaking;
mod crowds;
mod cut;
mod desks;
mod final_state;
