//! What the tests share: callers, every index there is, and scans into vectors.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use assay_index::{
    BuiltIndex, Caller, Index, IndexKind, NodeSet, build, build_cached, build_on_pages,
};
use assay_primitives::locks::Waiting;
use assay_primitives::{AnyLockContext, Clock, Hint, LockKind, PageMode};

/// A caller for latches of a kind, with the architecture's usual hint.
pub fn caller(lock: LockKind) -> Caller {
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Yield };
    let waiting = Waiting::new(lock, hint, 1 << 10, clock()).expect("every CPU has this hint");
    Caller::new(AnyLockContext::new(waiting))
}

fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(Clock::calibrated)
}

/// Each index once per lock kind that makes a difference, with that kind; each tree with a hash
/// table before it that is much too small, so that entries are replaced all the time; and the hash
/// index on pages.
#[allow(dead_code)]
pub fn every_index(capacity: usize) -> Vec<(String, IndexKind, LockKind, BuiltIndex)> {
    let locks = |kind| match kind {
        IndexKind::Latched => LockKind::ALL.to_vec(),
        _ => vec![LockKind::Ttas],
    };
    let all = IndexKind::ALL.into_iter();
    let pairs = all.flat_map(|kind| locks(kind).into_iter().map(move |lock| (kind, lock)));
    let plain = pairs.map(|(kind, lock)| {
        let name = format!("{} {}", kind.name(), lock.name());
        (name, kind, lock, build(kind, lock, capacity))
    });
    let cached = [IndexKind::Latched, IndexKind::Optimistic].into_iter().map(|kind| {
        let lock = LockKind::Ttas;
        let index = build_cached(kind, lock, 48).expect("a tree");
        (format!("{} {} cached", kind.name(), lock.name()), kind, lock, index)
    });
    let lock = LockKind::Ttas;
    let paged = build_on_pages(IndexKind::Hash, lock, capacity, PageMode::Small);
    let paged = paged.expect("every host has small pages");
    let paged = [("hash on pages".to_owned(), IndexKind::Hash, lock, paged)];
    plain.chain(cached).chain(paged).collect()
}

/// The entries of a range, in the order of the visit.
#[allow(dead_code)]
pub fn scanned(
    index: &dyn Index,
    range: RangeInclusive<u64>,
    back: bool,
    caller: &mut Caller,
    nodes: &mut NodeSet,
) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut visit = |key, reference| {
        found.push((key, reference));
        true
    };
    let scan = if back {
        index.scan_back(range, caller, nodes, &mut visit)
    } else {
        index.scan(range, caller, nodes, &mut visit)
    };
    scan.expect("only ordered indexes are scanned");
    found
}
