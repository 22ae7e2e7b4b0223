//! The survey of x86-64 code: every instruction is decoded once, and those that matter become
//! events with the loops they are in.

mod loops;
mod scan;
mod text;

use std::collections::BTreeMap;

use super::elf::Elf;
use super::report::{Findings, Hints, Kind, Site};
use scan::{Class, Scan};

/// Surveys an image.
pub fn survey(elf: &Elf<'_>, with_sites: bool) -> Findings {
    let mut findings = Findings { atomics: "none", ..Findings::default() };
    findings.counts = scan::KEYS.iter().map(|key| (*key, 0)).collect();
    for code in &elf.codes {
        let scan = scan::scan(code);
        for (key, count) in scan::KEYS.into_iter().zip(scan.counts) {
            *findings.counts.entry(key).or_default() += count;
        }
        exports(code, &scan, &mut findings.exports);
        if with_sites {
            loops::find(elf, code, &scan, &mut findings);
            timers(elf, code, &scan, &mut findings);
        }
    }
    findings
}

type Code<'a> = super::code::Code<'a>;

fn exports(code: &Code<'_>, scan: &Scan, exports: &mut BTreeMap<String, Hints>) {
    for event in scan.events.iter().filter(|event| event.class == Class::Pause) {
        let function = code.function(event.address).filter(|function| function.is_exported);
        if let Some(name) = function.and_then(|function| function.name()) {
            let hints = exports.entry(name.to_owned()).or_default();
            hints.pause += 1;
            hints.hints += 1;
        }
    }
}

fn timers(elf: &Elf<'_>, code: &Code<'_>, scan: &Scan, findings: &mut Findings) {
    let mut places: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for event in scan.events.iter().filter(|event| event.class == Class::Rdtsc) {
        let function = code.function(event.address).map_or(event.address, |f| f.start);
        places.entry(function).or_insert((event.address, 0)).1 += 1;
    }
    for (address, count) in places.into_values() {
        findings.sites.add(Kind::Timer { count }, |kind| site(elf, code, kind, address, address));
    }
}

/// A site from the instruction at `start` to the one at `last`.
fn site(elf: &Elf<'_>, code: &Code<'_>, kind: Kind, start: u64, last: u64) -> Site {
    let (listing, length) = text::listing(elf, code, start, last);
    Site {
        kind,
        function: code.name(start),
        section: code.section.map(str::to_owned),
        address: start,
        length,
        listing,
    }
}
