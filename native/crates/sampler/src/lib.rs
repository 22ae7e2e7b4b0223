//! What the host is, and what it did during a window: read from /proc and /sys, and by trying.
//!
//! Counters come as readings that are subtracted (`CpuTimes`, `ProcessTree`), or as columns of a
//! `Sampler` that is read again and again beside a run; a `Profiler` samples where a server's threads
//! are; facts are read once. A file that is not there gives "unknown", never a guess.

pub mod capabilities;
pub mod counters;
pub mod cpu_times;
pub mod facts;
pub mod kernel_threads;
mod perf_event;
pub mod process;
pub mod process_tree;
pub mod profile;

pub use capabilities::Capabilities;
pub use cpu_times::{CpuShare, CpuTimes};
pub use facts::Facts;
pub use kernel_threads::KernelThreads;
pub use process_tree::{AllProcesses, ProcessTree, TreeUsage};
