//! The survey of A64 code: one pass for events, then matchers over events and words.

mod blocks;
mod body;
mod class;
mod dispatch;
mod guards;
mod helpers;
pub mod insn;
#[cfg(test)]
mod insn_tests;
mod loops;
mod places;
mod reach;
mod spin;
mod text;
mod view;
mod wanted;

use std::collections::BTreeMap;

use super::elf::Elf;
use super::parts;
use super::report::{Counts, Findings, Helper, Kind, Sites};
use class::{CLASSES, Class, Event};
pub use class::{Events, scan};
use guards::Modes;
use view::{HelperNames, View, is_helper};

/// The keys of `counts`.
const KEYS: [&str; 20] = [
    "lse",
    "lse_in_helpers",
    "ll_sc",
    "helpers",
    "helper_calls",
    "helper_calls_sync",
    "yield",
    "isb",
    "isb_in_loop",
    "wfe",
    "wfet",
    "sb",
    "dmb",
    "dmb_outside_helpers",
    "ldar",
    "stlr",
    "crc32",
    "pmull_q",
    "aes",
    "sha",
];

/// Surveys an image, of whose sections these are the events.
pub fn survey(elf: &Elf<'_>, events: Vec<Events>, with_sites: bool) -> Findings {
    let counts = KEYS.iter().map(|key| (*key, 0)).collect();
    let mut findings = Findings { counts, ..Findings::default() };
    let mut more = [0u64; CLASSES];
    let mut views = Vec::with_capacity(elf.codes.len());
    for (code, mut events) in elf.codes.iter().zip(events) {
        events.keep_code(code);
        let Events { listed: mut events, back } = events;
        // A helper's body is its own witness.
        let helpers = helpers::find(code, &events);
        let first = helpers.iter().map(|helper| helper.start).min().unwrap_or(usize::MAX);
        let end = helpers.iter().map(|helper| helper.end).max().unwrap_or(0);
        let in_helper = |index: usize| {
            (first..end).contains(&index)
                && helpers.iter().any(|h| (h.start..h.end).contains(&index))
        };
        events.retain(|event| {
            let index = event.index as usize;
            let is_known =
                !event.class.is_weak() || code.covered.contains(code.at(index)) || in_helper(index);
            if is_known {
                more[event.class as usize] += 1;
            } else if let Some(key) = key(event.class) {
                *findings.unverified.entry(key).or_default() += 1;
            }
            is_known
        });
        views.push(View { elf, code, events, back, helpers, updates: Vec::new() });
    }
    count(&views, &mut findings.counts);
    let Called { helpers, names, places } = called(elf, &views, &mut findings.counts);
    findings.helpers = helpers;
    for (view, places) in views.iter_mut().zip(places) {
        view.updates = updates(view, places);
    }
    barriers(&views, &mut findings.more);
    for (name, class) in [
        ("ldapr", Class::Ldapr),
        ("dsb", Class::Dsb),
        ("bti", Class::Bti),
        ("pac", Class::Pac),
        ("cntvct", Class::Timer),
    ] {
        findings.more.insert(name.to_owned(), more[class as usize]);
    }
    let is_large = elf.codes.iter().any(|code| code.bytes.len() >= parts::WORTH_A_THREAD);
    let found = || {
        let modes = sites(&views, &names, &mut findings);
        (modes, constructor(elf, &views))
    };
    let (unreachable, (modes, constructor)) = parts::both(is_large, || reach::find(&views), found);
    findings.constructor = constructor;
    findings.sites.join(unreachable);
    findings.atomics = atomics(!findings.helpers.is_empty(), modes);
    if !with_sites {
        findings.sites = Sites::default();
    }
    findings
}

/// The key that a class is counted under.
fn key(class: Class) -> Option<&'static str> {
    Some(match class {
        Class::LoadExclusive | Class::StoreExclusive => "ll_sc",
        Class::Cas | Class::Swp | Class::LdOp => "lse",
        Class::Ldar => "ldar",
        Class::Stlr => "stlr",
        Class::Crc32 => "crc32",
        Class::PmullQ => "pmull_q",
        Class::Aes => "aes",
        Class::Sha => "sha",
        Class::Yield => "yield",
        Class::Wfe => "wfe",
        Class::Wfet => "wfet",
        Class::Isb => "isb",
        Class::Sb => "sb",
        Class::Dmb => "dmb",
        _ => return None,
    })
}

fn count(views: &[View<'_, '_>], counts: &mut Counts) {
    let mut add = |key: &'static str| *counts.entry(key).or_default() += 1;
    for view in views {
        for event in &view.events {
            let index = event.index as usize;
            if let Some(key) = key(event.class) {
                add(key);
            }
            match event.class {
                class if class.is_lse() && view.is_in_helper(index) => add("lse_in_helpers"),
                Class::Dmb if !view.is_in_helper(index) => add("dmb_outside_helpers"),
                Class::Isb if view.loops_around(index).next().is_some() => add("isb_in_loop"),
                _ => {}
            }
        }
    }
}

/// The helpers of an image, and who calls them.
struct Called {
    helpers: Vec<Helper>,
    names: HelperNames,
    /// By section, the indices of calls in order.
    places: Vec<Vec<u32>>,
}

fn called(elf: &Elf<'_>, views: &[View<'_, '_>], counts: &mut Counts) -> Called {
    let mut helpers: Vec<(u64, &View<'_, '_>, &helpers::HelperBody)> = Vec::new();
    for view in views {
        helpers.extend(view.helpers.iter().map(|body| (view.code.at(body.start), view, body)));
    }
    helpers.sort_by_key(|(address, ..)| *address);
    let is_linked = views.iter().all(|view| view.code.section.is_none());
    let starts: Vec<u64> = helpers.iter().map(|(address, ..)| *address).collect();
    let mut calls = vec![0; starts.len()];
    let (mut all, mut sync) = (0, 0);
    let mut places = Vec::with_capacity(views.len());
    for view in views {
        if is_linked {
            let found = helpers::calls(view.code, &starts);
            found.iter().for_each(|(helper, _)| calls[*helper] += 1);
            places.push(found.into_iter().map(|(_, index)| index).collect());
        } else {
            // Where a call goes is in its relocation.
            let found = || view.code.calls.iter().filter(|call| is_helper(call.name));
            all += found().count() as u64;
            sync += found().filter(|call| call.name.ends_with("_sync")).count() as u64;
            let indices = found().filter_map(|call| view.code.index(call.address));
            places.push(indices.map(|index| index as u32).collect());
        }
    }
    let mut listed = Vec::with_capacity(helpers.len());
    let mut names = if is_linked { spin::waiting(elf) } else { Vec::new() };
    for ((address, view, body), calls) in helpers.into_iter().zip(&calls) {
        all += calls;
        sync += if body.is_sync() { *calls } else { 0 };
        if is_linked {
            names.push((address, body.name.clone()));
        }
        let section = view.code.section.map(str::to_owned);
        listed.push(Helper { name: body.name.clone(), section, address, calls: *calls });
    }
    counts.insert("helpers", listed.len() as u64);
    counts.insert("helper_calls", all);
    counts.insert("helper_calls_sync", sync);
    Called { helpers: listed, names: HelperNames::of(names), places }
}

/// The indices of atomic operations: by LSE, by exclusives, and by calls of helpers, which are at
/// `calls`.
fn updates(view: &View<'_, '_>, calls: Vec<u32>) -> Vec<u32> {
    let is_update = |event: &&Event| event.class.is_lse() || event.class.is_exclusive();
    let mut updates = calls;
    updates.extend(view.events.iter().filter(is_update).map(|event| event.index));
    updates.sort_unstable();
    updates
}

fn barriers(views: &[View<'_, '_>], more: &mut BTreeMap<String, u64>) {
    for view in views {
        let dmb = |event: &&Event| matches!(event.class, Class::Dmb | Class::Dsb);
        for event in view.events.iter().filter(dmb) {
            let word = view.code.word(event.index as usize);
            *more.entry(text::barrier(word)).or_default() += 1;
        }
    }
}

/// Everything that has a place, but what cannot be reached.
fn sites(views: &[View<'_, '_>], names: &HelperNames, findings: &mut Findings) -> Modes {
    let sites = &mut findings.sites;
    let mut modes = Modes::default();
    let mut asks = false;
    for view in views {
        loops::find(view, names, sites, &mut findings.exports);
        let found = guards::find(view, sites);
        modes.dispatched += found.dispatched;
        modes.unguarded += found.unguarded;
        modes.exclusive += found.exclusive;
        asks |= dispatch::find(view, names, sites);
        timers(view, sites);
        for body in view.helpers.iter().filter(|body| body.is_sync()) {
            let address = view.code.at(body.start);
            let calls = findings.helpers.iter().find(|h| h.address == address);
            let calls = calls.map_or(0, |helper| helper.calls);
            let kind = Kind::SyncHelper { name: body.name.clone(), calls };
            view.add(sites, kind, body.start, body.end);
        }
    }
    let Some(elf) = views.first().map(|view| view.elf) else { return modes };
    for resolver in &elf.resolvers {
        if let Some(view) = views.iter().find(|view| view.code.holds(*resolver))
            && let Some(index) = view.code.index(*resolver)
        {
            let (_, end) = view.code.bounds(index);
            view.add(sites, Kind::Ifunc {}, index, end.max(index + 1));
        }
    }
    asks |= !elf.resolvers.is_empty();
    if !asks && elf.kind != "relocatable" {
        accelerated(views, sites);
    }
    modes
}

/// Functions that need more than the base architecture, where nothing asks what the CPU can do.
fn accelerated(views: &[View<'_, '_>], sites: &mut Sites) {
    for view in views {
        let mut places: BTreeMap<(u64, &'static str), (usize, u64)> = BTreeMap::new();
        for event in &view.events {
            let Some(class) = event.class.accelerated() else { continue };
            let index = event.index as usize;
            let address = view.code.at(index);
            let function = view.code.function(address).map_or(address, |f| f.start);
            places.entry((function, class)).or_insert((index, 0)).1 += 1;
        }
        for ((_, class), (index, count)) in places {
            view.add(sites, Kind::Unguarded { class, count }, index, index + 1);
        }
    }
}

fn timers(view: &View<'_, '_>, sites: &mut Sites) {
    let mut places: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for event in view.events.iter().filter(|event| event.class == Class::Timer) {
        let index = event.index as usize;
        let address = view.code.at(index);
        let function = view.code.function(address).map_or(address, |function| function.start);
        places.entry(function).or_insert((index, 0)).1 += 1;
    }
    for (index, count) in places.into_values() {
        view.add(sites, Kind::Timer { count }, index, index + 1);
    }
}

/// One word for how the image does atomic operations.
fn atomics(has_helpers: bool, modes: Modes) -> &'static str {
    match (has_helpers, modes.dispatched > 0, modes.unguarded > 0) {
        (false, false, false) if modes.exclusive > 0 => "ll-sc-only",
        (false, false, false) => "none",
        (true, false, false) => "outline",
        (false, true, false) => "inline-dispatch",
        (false, false, true) => "inline-unguarded",
        _ => "mixed",
    }
}

fn constructor(elf: &Elf<'_>, views: &[View<'_, '_>]) -> Option<bool> {
    if elf.kind == "relocatable" {
        return None; // the flag is in another file
    }
    let flag = views.iter().flat_map(|view| &view.helpers).map(|body| body.flag).next()?;
    Some(views.iter().any(|view| dispatch::has_constructor(view, flag)))
}

/// The page size that jemalloc was built for, as a power of two: what its code compares the system's
/// with where it says that it is not supported.
pub fn page_shift(elf: &Elf<'_>, message: u64) -> Option<u32> {
    const AROUND: usize = 4;
    elf.codes.iter().find_map(|code| {
        let words = 0..code.len();
        let mut uses = words.filter(|index| {
            let page = code.word(*index);
            page & 0x9F00_0000 == 0x9000_0000
                && insn::adrp(page, code.at(*index)) == message & !0xFFF
                && (index + 1..index + 9).any(|next| {
                    insn::add_number(code.word(next)).is_some_and(|(_, from, number)| {
                        from == insn::rd(page) && number.cast_unsigned() == message & 0xFFF
                    })
                })
        });
        uses.find_map(|place| {
            let (first, last) = code.bounds(place);
            // The message stands apart; the comparison is where a branch leads to it.
            let leads = |index: &usize| {
                let target = insn::branch_to(*index, code.word(*index)).map(|found| found.1);
                target
                    .is_some_and(|target| target <= place && place <= target.saturating_add(AROUND))
            };
            let compared = (first..last).filter(leads).find_map(|branch| {
                let before = (branch.saturating_sub(AROUND)..branch).rev();
                let numbers = before.filter_map(|index| insn::compare_number(code.word(index)));
                let mut sizes = numbers.filter_map(|(_, number)| u64::try_from(number).ok());
                sizes.find(|size| *size >= 4096 && size.is_power_of_two())
            });
            compared.map(u64::trailing_zeros)
        })
    })
}
