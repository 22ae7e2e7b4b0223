//! A worker for one test of PostgreSQL.
#![allow(dead_code, unused_imports)] // No test uses all of it.

#[path = "worker.rs"]
mod worker;

use assay_runtime::{Handle, sleep_until};
pub use worker::{after_ms, run};

/// Lets other tasks go on until something is so.
pub async fn until(handle: &Handle, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        sleep_until(handle, after_ms(handle, 1)).await;
    }
}
