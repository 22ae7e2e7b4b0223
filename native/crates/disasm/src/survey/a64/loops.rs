//! Loops of at most 64 instructions: those that wait, those that only count, hints and barriers in
//! them or outside.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::parts;
use super::super::report::{Hints, Kind, Sites};
use super::body::{Body, Loop};
use super::class::Class;
use super::insn::{self, Branch, bit, branch, branch_to};
use super::spin::{Beginning, By, beginning, is_retry, looks_at, waits_by};
use super::view::{HelperNames, View, is_helper};

/// How far from a delay loop an atomic operation makes it look like a back-off.
const NEAR: usize = 64;
/// How many instructions on a long loop may still lead back.
const LONGEST: usize = 4096;
/// Loops whose last instructions are further from each other have none in common.
const APART: u32 = 64;

/// Finds them all. Exported functions that hold any go to `exports`.
pub fn find(
    view: &View<'_, '_>,
    names: &HelperNames,
    sites: &mut Sites,
    exports: &mut BTreeMap<String, Hints>,
) {
    let hinted = hints(view, names, sites, exports);
    let back = &view.back;
    let parts = parts::map(back.len(), 1024, |part| {
        let part = apart(back, part.start)..apart(back, part.end);
        without_hint(view, names, &hinted, &back[part])
    });
    for (kind, found) in parts.into_iter().flatten() {
        view.add(sites, kind, found.start, found.end + 1);
        export(view, found.start, exports);
    }
    barriers(view, sites);
}

/// From a number on, the first branch back so far from the one before that their loops have nothing
/// to do with each other.
fn apart(back: &[u32], from: usize) -> usize {
    let is_apart =
        |k: &usize| k.checked_sub(1).is_none_or(|before| back[*k] - back[before] > APART);
    (from..back.len()).find(is_apart).unwrap_or(back.len())
}

/// A branch back that the search for those without a hint has passed.
struct Passed {
    found: Loop,
    waits: bool,
    /// Whether it makes a loop that does something else than try a store exclusive again. Only asked
    /// if it is inside of another.
    counts: OnceCell<bool>,
}

impl Passed {
    fn counts(&self, view: &View<'_, '_>) -> bool {
        *self.counts.get_or_init(|| {
            Body::of(view.code, self.found).is_some() && !is_retry(view, self.found)
        })
    }
}

/// The last atomic operation up to a place that only moves on.
struct Updates<'v> {
    after: &'v [u32],
    last: Option<u32>,
}

impl<'v> Updates<'v> {
    /// For loops that these branches close, in their order.
    fn from(view: &'v View<'_, '_>, back: &[u32]) -> Self {
        let first = back.first().map_or(0, |index| index.saturating_sub(APART));
        let before = view.updates.partition_point(|index| *index < first);
        Self { after: &view.updates[before..], last: None }
    }

    /// Whether one is between the first and the last instruction of a loop.
    fn are_in(&mut self, found: Loop) -> bool {
        while let Some((next, rest)) = self.after.split_first()
            && *next as usize <= found.end
        {
            (self.last, self.after) = (Some(*next), rest);
        }
        self.last.is_some_and(|last| last as usize >= found.start)
    }
}

/// Of loops closed by these branches: those that only count, and those that wait without a hint.
fn without_hint(
    view: &View<'_, '_>,
    names: &HelperNames,
    hinted: &BTreeSet<usize>,
    back: &[u32],
) -> Vec<(Kind, Loop)> {
    let mut reported = Vec::new();
    let mut before: VecDeque<Passed> = VecDeque::new();
    let mut updates = Updates::from(view, back);
    for back in back {
        let Some(found) = view.closed_by(*back) else { continue };
        let updates = updates.are_in(found);
        let beginning = beginning(view, names, found, updates);
        while before.front().is_some_and(|first| found.end - first.found.end > APART as usize) {
            before.pop_front();
        }
        // Of loops that share their first instruction, the smallest that waits is reported.
        let has_inner = || {
            before.iter().any(|earlier| {
                let start = earlier.found.start;
                let is_inner = start > found.start || start == found.start && earlier.waits;
                is_inner && earlier.counts(view)
            })
        };
        let is_else = beginning != Beginning::Open || has_inner();
        let kind = if is_else { None } else { kind(view, names, hinted, found, updates) };
        let waits = matches!(kind, Some(Kind::SpinLoop { .. }));
        reported.extend(kind.map(|kind| (kind, found)));
        if beginning != Beginning::Leaves {
            before.push_back(Passed { found, waits, counts: OnceCell::new() });
        }
    }
    reported
}

/// What a loop without another one inside is.
fn kind(
    view: &View<'_, '_>,
    names: &HelperNames,
    hinted: &BTreeSet<usize>,
    found: Loop,
    updates: bool,
) -> Option<Kind> {
    let body = Body::of(view.code, found)?;
    if hinted.range(found.start..=found.end).any(|index| body.holds(*index)) {
        return None;
    }
    if let Some(constant) = delay(view, found) {
        let near_atomic = || is_near_atomic(view, names, found);
        let is_one = view.is_in_function(found);
        return is_one.then(|| Kind::DelayLoop { constant, near_atomic: near_atomic() });
    }
    if is_retry(view, found) || view.is_in_helper(found.start) {
        return None;
    }
    let by = waits_by(view, names, body, updates).filter(|_| view.is_in_function(found))?;
    Some(Kind::SpinLoop { hint: "none", by: by.name() })
}

fn export<'x>(
    view: &View<'_, '_>,
    index: usize,
    exports: &'x mut BTreeMap<String, Hints>,
) -> Option<&'x mut Hints> {
    let function = view.code.function(view.code.at(index)).filter(|f| f.is_exported)?;
    Some(exports.entry(function.name()?.to_owned()).or_default())
}

/// Loops with hints, and hints without a loop; returns where the hints are.
fn hints(
    view: &View<'_, '_>,
    names: &HelperNames,
    sites: &mut Sites,
    exports: &mut BTreeMap<String, Hints>,
) -> BTreeSet<usize> {
    let mut places = BTreeSet::new();
    let mut loops: BTreeMap<(usize, usize), &'static str> = BTreeMap::new();
    let mut outside: BTreeMap<(u64, &'static str), (usize, u64)> = BTreeMap::new();
    for event in &view.events {
        let Some(hint) = event.class.hint() else { continue };
        let index = event.index as usize;
        if let Some(hints) = export(view, index, exports) {
            hints.hints += 1;
        }
        if let Some(found) = view.true_loop_around(index) {
            places.insert(index);
            loops.entry((found.start, found.end)).or_insert(hint);
        } else if !in_long_loop(view, index) {
            let address = view.code.at(index);
            let function = view.code.function(address).map_or(address, |f| f.start);
            outside.entry((function, hint)).or_insert((index, 0)).1 += 1;
        }
    }
    for ((start, end), hint) in loops {
        let Some(body) = Body::of(view.code, Loop { start, end }) else { continue };
        let by = looks_at(view, names, body);
        view.add(sites, Kind::SpinLoop { hint, by: By::name(by) }, start, end + 1);
    }
    for ((_, hint), (index, count)) in outside {
        view.add(sites, Kind::HintOutsideLoop { hint, count }, index, index + 1);
    }
    places
}

/// Whether a branch further down the function leads back to before a place: a loop too long to be
/// a wait, but a loop.
fn in_long_loop(view: &View<'_, '_>, index: usize) -> bool {
    let address = view.code.at(index);
    let Some(function) = view.code.function(address) else { return false };
    let words = |bytes: u64| usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    let first = index.saturating_sub(words(address - function.start));
    let end = index.saturating_add(words(function.end - address).min(LONGEST));
    (index + 1..end).any(|place| {
        matches!(branch_to(place, view.code.word(place)), Some((kind, target))
            if kind != Branch::Call && (first..=index).contains(&target))
    })
}

/// Whether a loop only counts one register by a constant, and from what (if it is a constant too).
fn delay(view: &View<'_, '_>, found: Loop) -> Option<Option<u64>> {
    if found.len() > 4 {
        return None;
    }
    let word = |index| view.code.word(index);
    let mut counter = None;
    for index in found.start..found.end {
        let word = word(index);
        if word == insn::NOP || insn::compare_number(word).is_some() || is_compare(word) {
            continue;
        }
        let (to, from, _) = insn::add_number(word)?;
        if to != from || to == 31 || counter.is_some_and(|known| known != to) {
            return None;
        }
        counter = Some(to);
    }
    let counter = counter?;
    let (kind, _) = branch(word(found.end))?;
    let counts = match kind {
        insn::Branch::Zero(register, _) => register == counter,
        insn::Branch::Flags(_) => (found.start..found.end).any(|index| {
            let word = word(index);
            insn::sets_flags(word) && insn::reads(word) & bit(counter) != 0
        }),
        _ => false,
    };
    counts.then(|| first_value(view, found.start, counter))
}

fn is_compare(word: u32) -> bool {
    word & 0x7F20_001F == 0x6B00_001F
}

/// The constant that a register has before a loop, if it is set to one shortly before.
fn first_value(view: &View<'_, '_>, start: usize, register: u8) -> Option<u64> {
    let (first, _) = view.code.bounds(start);
    let last = (first.max(start.saturating_sub(16))..start)
        .rev()
        .find(|index| insn::writes(view.code.word(*index)) & bit(register) != 0)?;
    let (_, value) = insn::constant(view.code.word(last))?;
    Some(value)
}

fn is_near_atomic(view: &View<'_, '_>, names: &HelperNames, found: Loop) -> bool {
    let (first, last) = view.code.bounds(found.start);
    let start = first.max(found.start.saturating_sub(NEAR));
    let end = last.min(found.end + 1 + NEAR);
    let event = view
        .between(start, end.saturating_sub(1))
        .any(|event| event.class.is_lse() || event.class.is_exclusive());
    let calls = |index: usize| {
        matches!(branch_to(index, view.code.word(index)), Some((insn::Branch::Call, _)))
            && view.awaited(index, names).is_some_and(is_helper)
    };
    event || (start..end).any(calls)
}

/// Barriers of the whole system, and those that wait for completion, in loops.
fn barriers(view: &View<'_, '_>, sites: &mut Sites) {
    const WHOLE_SYSTEM: u32 = 15;
    for event in &view.events {
        let index = event.index as usize;
        let word = view.code.word(index);
        let counts = match event.class {
            Class::Dmb => word >> 8 & 15 == WHOLE_SYSTEM,
            Class::Dsb => true,
            _ => false,
        };
        if let Some(found) = counts.then(|| view.true_loop_around(index)).flatten() {
            let what = super::text::barrier(word);
            view.add(sites, Kind::BarrierInLoop { what }, found.start, found.end + 1);
        }
    }
}
