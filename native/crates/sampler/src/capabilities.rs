//! What can be done or counted here, found out by trying wherever trying is harmless.

use assay_primitives::htm::{self, HtmState};

use crate::facts::Facts;
use crate::perf_event::{Attribute, EXCLUDE_KERNEL, Place};
use crate::process;

/// A yes or no with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// Whether it works.
    pub ok: bool,
    /// How that is known, and what would change a no.
    pub why: String,
}

/// Everything that studies may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Hardware event counters.
    pub pmu: Ability,
    /// Hardware transactional memory.
    pub htm: (HtmState, String),
    /// 2 MiB pages from the pool.
    pub hugetlb_2m: Ability,
    /// Transparent huge pages.
    pub thp: Ability,
    /// More than one memory node.
    pub numa: Ability,
    /// Keeping threads on CPUs.
    pub pin: Ability,
    /// Root's rights.
    pub root: Ability,
}

impl Capabilities {
    /// Tries them all; `facts` supplies what has been read already.
    pub fn probe(facts: &Facts) -> Self {
        // SAFETY: geteuid takes nothing and cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        Self {
            pmu: pmu(),
            htm: htm::state().clone(),
            hugetlb_2m: hugetlb_2m(facts, is_root),
            thp: thp(facts),
            numa: ability(facts.numa_nodes > 1, format!("{} memory node(s)", facts.numa_nodes)),
            pin: pin(),
            root: ability(is_root, format!("effective user is {}root", not(is_root))),
        }
    }
}

fn ability(ok: bool, why: String) -> Ability {
    Ability { ok, why }
}

fn not(is_so: bool) -> &'static str {
    if is_so { "" } else { "not " }
}

/// Opens a counter of own cycles, which is what every use of hardware events comes down to.
fn pmu() -> Ability {
    const HARDWARE: u32 = 0;
    const CYCLES: u64 = 0;
    let here = Place { pid: 0, cpu: -1 };
    match Attribute::new(HARDWARE, CYCLES, EXCLUDE_KERNEL).open(here, None) {
        Ok(_) => ability(true, "a cycles counter could be opened".to_owned()),
        Err(error) => ability(false, format!("perf_event_open for cycles: {error}")),
    }
}

fn hugetlb_2m(facts: &Facts, is_root: bool) -> Ability {
    let Some(pool) = facts.huge_pages.iter().find(|pool| pool.bytes == 2 << 20) else {
        return ability(false, "the kernel has no pool of 2 MiB pages".to_owned());
    };
    if pool.free > 0 {
        return ability(true, format!("{} of {} pages free", pool.free, pool.pool));
    }
    let why = "the pool has no free page; root can fill it: sysctl -w vm.nr_hugepages=N";
    ability(false, format!("{why} (this user is {}root)", not(is_root)))
}

fn thp(facts: &Facts) -> Ability {
    match facts.thp_enabled.as_deref() {
        Some(mode @ ("always" | "madvise")) => ability(true, format!("enabled={mode}")),
        Some(mode) => ability(false, format!("transparent_hugepage/enabled is {mode}")),
        None => ability(false, "the kernel has no transparent huge pages".to_owned()),
    }
}

fn pin() -> Ability {
    let cpus = process::allowed_cpus();
    // On a thread of its own, so that the caller stays where it is.
    let first = cpus.first().copied();
    let pinned = std::thread::spawn(move || first.is_some_and(process::pin_thread)).join();
    ability(pinned.unwrap_or(false), format!("{} CPU(s) allowed", cpus.len()))
}
