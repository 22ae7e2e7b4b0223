//! The verbs, one file each, and what they share.

pub mod ask;
pub mod census;
pub mod engine;
pub mod facts;
mod hint;
pub mod hits;
pub mod load;
pub mod micro;
pub mod object;
pub mod profile;
pub mod sample;
pub mod serve;
pub mod store;
mod words;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use assay_disasm::build_id;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Clock, Contention};
use assay_sampler::process;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::measure::{Measured, Measurement};
use crate::protocol::response;
use crate::recorder::encode;

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

fn clock_response(clock: &Clock) -> response::Clock {
    response::Clock { source: clock.source(), hz: clock.hz() }
}

/// A function that was called, by its run-time address.
fn ran(role: &'static str, address: Address, calls: u64) -> response::Ran {
    let link_time = address.get().wrapping_sub(process::load_bias());
    response::Ran { role, address: format!("{link_time:#x}"), calls, made: None }
}

/// What only the verb knows about a finished run.
struct Ending {
    latency_of: &'static str,
    ran: Vec<response::Ran>,
    /// Of the data's own mapping, where there is one.
    memory: Option<Mapped>,
    state: response::State,
}

/// Puts the result together.
fn result(
    measurement: &Measurement<'_>,
    measured: &Measured,
    ending: Ending,
) -> Result<response::RunResult, Failure> {
    let mut by_kind = BTreeMap::new();
    for (name, histogram) in measurement.kinds.iter().zip(&measured.recording.by_kind) {
        let kind =
            response::KindResult { operations: histogram.len(), histogram: encode(histogram)? };
        by_kind.insert(*name, kind);
    }
    let process = process::memory();
    let counts = &measured.counts;
    let threads = measurement.cpus.iter().zip(&measured.reports).map(|(cpu, report)| {
        response::ThreadResult { cpu: *cpu, operations: report.operations, cpu_s: report.cpu_s }
    });
    let contention = |(name, counts): &(&'static str, Contention)| {
        (*name, contention_response(counts, &measurement.clock))
    };
    Ok(response::RunResult {
        complete: measured.is_complete,
        window_s: measured.window_s,
        operations: measured.recording.operations(),
        errors: measured.recording.errors,
        latency_of: ending.latency_of,
        by_kind,
        histogram: encode(&measured.recording.all()?)?,
        threads: threads.collect(),
        contention: counts.contention.iter().map(contention).collect(),
        lookups: counts.lookups.iter().copied().collect(),
        counters: counts.counters.iter().copied().collect(),
        executed: counts.executed,
        ran: ending.ran,
        memory: response::ResultMemory {
            arena: ending.memory.map(arena_memory),
            rss_bytes: process.rss_bytes,
            page_table_bytes: process.page_table_bytes,
        },
        cpus: measured.cpus.iter().map(cpu_response).collect(),
        state: ending.state,
        load: None,
        server: None,
    })
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
