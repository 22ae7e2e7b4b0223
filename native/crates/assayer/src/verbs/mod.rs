//! The verbs, one file each, and what they share.

pub mod ask;
pub mod census;
pub mod engine;
pub mod facts;
mod hint;
pub mod hits;
pub mod job;
pub mod load;
pub mod micro;
pub mod object;
pub mod profile;
mod run;
pub mod sample;
pub mod serve;
pub mod store;
mod words;

use std::io::Read;
use std::path::Path;

use assay_disasm::build_id;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Clock, Contention};
use assay_sampler::{ProcessTree, TreeUsage};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::protocol::response;

/// Reads the request: the first JSON value on standard input, without waiting for its end.
pub fn read_request() -> Result<Value, Failure> {
    parse_first(std::io::stdin().lock())
}

fn parse_first(reader: impl Read) -> Result<Value, Failure> {
    let mut values = serde_json::Deserializer::from_reader(reader).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(Failure::usage(format!("the request is not JSON: {error}"))),
        None => Err(Failure::usage("the request is empty: one JSON object is expected")),
    }
}

/// Gives a request its type.
fn typed<T: DeserializeOwned>(request: Value) -> Result<T, Failure> {
    serde_json::from_value(request)
        .map_err(|error| Failure::usage(format!("the request is wrong: {error}")))
}

/// Processes that are to be told from everybody else's.
fn server_tree(field: &str, pid: u32) -> Result<ProcessTree, Failure> {
    ProcessTree::read(pid).ok_or_else(|| Failure::Missing {
        message: format!("{field}: there is no process {pid} here"),
        next: "start the server first, on this machine, or leave its number out".to_owned(),
    })
}

/// What a server used, and holds.
fn server_usage(usage: TreeUsage) -> response::ServerUsage {
    response::ServerUsage {
        cpu_s: usage.cpu_s,
        rss_bytes: usage.rss_bytes,
        pss_bytes: usage.pss_bytes,
        processes: usage.processes,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
    }
}

/// The build id of this very binary; empty if the linker wrote none.
fn own_build_id() -> Result<String, Failure> {
    Ok(build_id(Path::new("/proc/self/exe"))?.unwrap_or_default())
}

fn arena_memory(mapped: Mapped) -> response::ArenaMemory {
    response::ArenaMemory {
        bytes: mapped.bytes,
        anon_huge_bytes: mapped.anon_huge_bytes,
        private_hugetlb_bytes: mapped.private_hugetlb_bytes,
        eligible_bytes: mapped.eligible_bytes,
        kernel_page_bytes: mapped.kernel_page_bytes,
    }
}

fn contention_response(counts: &Contention, clock: &Clock) -> response::Contention {
    response::Contention {
        grabs: counts.grabs,
        waits: counts.waits,
        spins: counts.spins,
        wait_s: clock.ns(counts.wait_ticks) as f64 / 1e9,
    }
}

/// The elisions at one class of locks, as counters; none where nothing is elided, so that zeros do
/// not look like a mechanism that ran.
macro_rules! elision_counters {
    ($class:literal, $counts:expr) => {{
        let counts = $counts;
        [
            (concat!("elided.", $class), counts.elided),
            (concat!("elision_fallbacks.", $class), counts.fallbacks),
            (concat!("elision_conflicts.", $class), counts.conflicts),
            (concat!("elision_capacity.", $class), counts.capacity),
            (concat!("elision_lock_held.", $class), counts.lock_held),
            (concat!("elision_other.", $class), counts.other),
        ]
    }};
}
pub(crate) use elision_counters;

/// The locks that parts of any verb chose, and the hint that is in force.
macro_rules! waiting_manifest {
    ($parts:expr, $hint:expr) => {{
        let parts = $parts;
        $crate::protocol::response::WaitingManifest {
            hint: $hint,
            lock: parts.lock.name(),
            elision: parts.elision.name(),
            elision_retries: parts.elision_retries,
            htm: assay_primitives::htm::state().0.name(),
            spin_limit: parts.spin_limit,
            padding: parts.padding,
        }
    }};
}
pub(crate) use waiting_manifest;

fn cpu_response(share: &assay_sampler::CpuShare) -> response::CpuShare {
    response::CpuShare {
        cpu: share.cpu,
        busy: share.busy,
        user: share.user,
        system: share.system,
        softirq: share.softirq,
        steal: share.steal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_value_is_read() {
        let request = parse_first(&b" {\"a\": {\"b\": 1}} trailing"[..]);
        assert_eq!(request.unwrap(), serde_json::json!({"a": {"b": 1}}));
        assert!(parse_first(&b""[..]).is_err());
        assert!(parse_first(&b"{\"a\": "[..]).is_err());
    }
}
