//! The verb `facts`: what this host is, and what can be done and counted on it.

use assay_primitives::{Clock, Hint};
use assay_sampler::capabilities::Ability;
use assay_sampler::{Capabilities, Facts};
use serde_json::Value;

use super::run::clock_response;
use super::{own_build_id, typed};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::FactsRequest;
use crate::protocol::response;

const UNKNOWN: &str = "unknown";

/// Runs the verb.
pub fn run(request: Value, output: &mut Output) -> Result<(), Failure> {
    let FactsRequest {} = typed(request)?;
    let clock = Clock::calibrated();
    let facts = Facts::read();
    let capabilities = Capabilities::probe(&facts);
    let build_id = own_build_id()?;
    output.write("result", &response(&facts, &capabilities, &clock, &build_id))
}

fn response<'a>(
    facts: &'a Facts,
    capabilities: &'a Capabilities,
    clock: &Clock,
    build_id: &'a str,
) -> response::Facts<'a> {
    response::Facts {
        arch: facts.arch,
        cpu_model: or_unknown(&facts.cpu_model),
        cpus: facts.cpus,
        cpu_features: &facts.cpu_features,
        cache_line_bytes: facts.cache_line_bytes,
        page_bytes: facts.page_bytes,
        kernel: or_unknown(&facts.kernel),
        distribution: or_unknown(&facts.distribution),
        numa_nodes: facts.numa_nodes,
        memory_bytes: facts.memory_bytes,
        huge_pages: huge_pages(facts),
        thp: thp(facts),
        is_virtual: facts.is_virtual,
        clock: clock_response(clock),
        hints: hints(clock),
        can: can(capabilities),
        build_id,
        version: env!("CARGO_PKG_VERSION"),
    }
}

fn or_unknown(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or(UNKNOWN)
}

fn huge_pages(facts: &Facts) -> Vec<response::HugePages> {
    let pools = facts.huge_pages.iter();
    pools
        .map(|pool| response::HugePages { bytes: pool.bytes, pool: pool.pool, free: pool.free })
        .collect()
}

fn thp(facts: &Facts) -> Option<response::Thp<'_>> {
    let enabled = facts.thp_enabled.as_deref()?;
    Some(response::Thp { enabled, defrag: or_unknown(&facts.thp_defrag) })
}

fn hints(clock: &Clock) -> Vec<response::HintCost> {
    let cost =
        |hint: &Hint| Some(response::HintCost { name: hint.name(), ns: hint.calibrate(clock)? });
    Hint::available().iter().filter_map(cost).collect()
}

fn can(capabilities: &Capabilities) -> response::Can<'_> {
    let (htm_state, htm_why) = &capabilities.htm;
    response::Can {
        pmu: ability(&capabilities.pmu),
        htm: response::Htm { state: htm_state.name(), why: htm_why },
        hugetlb_2m: ability(&capabilities.hugetlb_2m),
        thp: ability(&capabilities.thp),
        numa: ability(&capabilities.numa),
        pin: ability(&capabilities.pin),
        root: ability(&capabilities.root),
    }
}

fn ability(ability: &Ability) -> response::Ability<'_> {
    response::Ability { ok: ability.ok, why: &ability.why }
}
