//! Atomic operations outside of helpers: guarded by a look at a flag where they stand, as Go's
//! compiler writes them; without a guard; or as load and store exclusive.

use std::collections::BTreeMap;

use super::super::report::{Kind, Sites};
use super::class::Class;
use super::insn::{self, Branch, branch_to, rd};
use super::view::View;

/// How far back a guard is looked for, and how far its flag's load is from it.
const BACK: usize = 32;
const LOAD: usize = 6;
/// How far behind the target of a guard its fallback may begin.
const FALLBACK: usize = 12;

/// How an image does atomic operations; `super::atomics` makes one word of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Modes {
    pub dispatched: u64,
    pub unguarded: u64,
    pub exclusive: u64,
}

/// Sorts what is outside of helpers.
pub fn find(view: &View<'_, '_>, sites: &mut Sites) -> Modes {
    let mut modes = Modes::default();
    // By function: the first place, and how many.
    let mut dispatched: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    let mut unguarded: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    let mut pair_ends = 0;
    for event in &view.events {
        let index = event.index as usize;
        let is_looked_at = event.class.is_lse() || event.class == Class::LoadExclusive;
        if !is_looked_at || view.is_in_helper(index) {
            continue;
        }
        if event.class.is_lse() {
            let address = view.code.at(index);
            let function = view.code.function(address).map_or(address, |function| function.start);
            let is_guarded = guards(view, index).any(|(_, target)| target > index);
            let places = if is_guarded { &mut dispatched } else { &mut unguarded };
            places.entry(function).or_insert((index, 0)).1 += 1;
            *(if is_guarded { &mut modes.dispatched } else { &mut modes.unguarded }) += 1;
        } else if index >= pair_ends {
            let (end, operation) = pair(view, index);
            pair_ends = end;
            let is_fallback =
                guards(view, index).any(|(_, target)| target <= index && target + FALLBACK > index);
            if !is_fallback {
                modes.exclusive += 1;
                view.add(sites, Kind::LlscOutsideHelper { operation }, index, end);
            }
        }
    }
    for (index, count) in dispatched.into_values() {
        view.add(sites, Kind::InlineDispatch { count }, index, index + 1);
    }
    for (index, count) in unguarded.into_values() {
        view.add(sites, Kind::Unguarded { class: "lse", count }, index, index + 1);
    }
    modes
}

/// Branches before an index, in its function, that are decided by a byte just loaded: their index
/// and target.
fn guards<'v>(view: &'v View<'_, '_>, index: usize) -> impl Iterator<Item = (usize, usize)> + 'v {
    let (first, _) = view.code.bounds(index);
    let start = first.max(index.saturating_sub(BACK));
    (start..index).rev().filter_map(move |place| {
        let (kind, target) = branch_to(place, view.code.word(place))?;
        let register = match kind {
            Branch::Zero(register, _) | Branch::Bit(register, 0, _) => register,
            _ => return None,
        };
        let loads = |before: usize| {
            let word = view.code.word(before);
            word & 0xFFC0_0000 == 0x3940_0000 && rd(word) == register
        };
        let from = first.max(place.saturating_sub(LOAD));
        (from..place).any(loads).then_some((place, target))
    })
}

/// From a load exclusive: the index after its store, and what is done in between.
fn pair(view: &View<'_, '_>, index: usize) -> (usize, &'static str) {
    const LONGEST: usize = 16;
    let store =
        view.between(index + 1, index + LONGEST).find(|event| event.class == Class::StoreExclusive);
    let Some(store) = store.map(|event| event.index as usize) else {
        return (index + 1, "load");
    };
    let is_pair = view.code.word(index) >> 21 & 1 == 1;
    let words = (index + 1..store).map(|place| view.code.word(place));
    let mut operation = "exchange";
    for word in words {
        let logical = word & 0x1F00_0000 == 0x0A00_0000 || word & 0x1F80_0000 == 0x1200_0000;
        if insn::sets_flags(word) || matches!(insn::branch(word), Some((Branch::Zero(..), _))) {
            operation = "compare and swap";
            break;
        } else if word & 0x1F20_0000 == 0x0B00_0000 || insn::add_number(word).is_some() {
            operation = "add";
        } else if logical && insn::move_register(word).is_none() {
            operation = ["and", "or", "exclusive or", "and"][(word >> 29 & 3) as usize];
        }
    }
    let operation = match (is_pair, operation) {
        (true, "exchange") => "exchange of a pair",
        (true, "compare and swap") => "compare and swap of a pair",
        (_, operation) => operation,
    };
    (store + 1, operation)
}
