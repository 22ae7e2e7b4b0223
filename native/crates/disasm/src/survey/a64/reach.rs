//! Accelerated functions that can never run: nothing refers to them, or every way to them leads past
//! a call of a function that always returns 0.
//!
//! Ways are followed upward: a function with CRC32, PMULL, AES or SHA instructions, who calls it or
//! takes its address, who does that to those, at most `DEPTH` times. A way is closed if the place
//! where it begins is skipped after the constant answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget,
    SectionFlags,
};

use super::super::elf::Elf;
use super::super::report::{Kind, Sites};
use super::insn::{self, Branch, adrp, branch_to, rd};
use super::view::View;

const DEPTH: usize = 4;
const JUMP_SLOT: u32 = 1026;
const RELATIVE: u32 = 1027;
const LOADED: u64 = 2;
const LOADED_OR_CODE: u64 = 6;
/// How far before a place its guard may be.
const GUARD: usize = 96;
/// How far behind ADRP the rest of an address may be.
const ADDRESS: usize = 8;

/// Who refers to a function: (section, index of the word).
type References = HashMap<u64, Vec<(usize, usize)>>;

/// A function by its first address, and which accelerated instructions it has.
type Accelerated = BTreeMap<u64, BTreeSet<&'static str>>;

/// Finds them.
pub fn find(views: &[View<'_, '_>], sites: &mut Sites) {
    let accelerated = accelerated(views);
    if accelerated.is_empty() {
        return;
    }
    let Some(elf) = views.first().map(|view| view.elf) else { return };
    if elf.kind == "relocatable" {
        return; // who refers to what is decided by the linker
    }
    let mut search = Search {
        elf,
        views,
        references: References::new(),
        pointers: BTreeSet::new(),
        slots: BTreeMap::new(),
    };
    search.collect(accelerated.keys().copied().collect());
    for (function, classes) in accelerated {
        let Some(view) = views.iter().find(|view| view.code.holds(function)) else { continue };
        let Some(known) = view.code.function(function) else { continue };
        let why = match search.ways(function, 0) {
            Ways::None if !known.is_exported => "unreferenced".to_owned(),
            Ways::Closed(guard) => format!("constant-false guard {guard}"),
            _ => continue,
        };
        let (Some(start), end) = (view.code.index(function), known.end) else { continue };
        let end = view.code.index(end).unwrap_or(view.code.len());
        let exported = known.is_exported;
        let kind = Kind::Unreachable { classes: classes.into_iter().collect(), why, exported };
        view.add(sites, kind, start, end);
    }
}

fn accelerated(views: &[View<'_, '_>]) -> Accelerated {
    let mut found = Accelerated::new();
    for view in views {
        for event in &view.events {
            let Some(class) = event.class.accelerated() else { continue };
            let address = view.code.at(event.index as usize);
            if let Some(function) = view.code.function(address) {
                found.entry(function.start).or_default().insert(class);
            }
        }
    }
    found
}

/// How a function can be reached.
enum Ways {
    /// Nothing refers to it.
    None,
    /// Only past a constant answer: who gives it.
    Closed(String),
    Open,
}

struct Search<'s, 'e, 'a> {
    elf: &'e Elf<'a>,
    views: &'s [View<'e, 'a>],
    references: References,
    /// Functions whose address is in data.
    pointers: BTreeSet<u64>,
    /// Slots of the global offset table that hold a function's address: code loads it from there.
    slots: BTreeMap<u64, u64>,
}

impl Search<'_, '_, '_> {
    /// Finds who refers to the functions, then who refers to those, and so on.
    fn collect(&mut self, mut wanted: BTreeSet<u64>) {
        let mut known = BTreeSet::new();
        for _ in 0..DEPTH {
            self.in_data(&wanted);
            let mut next = BTreeSet::new();
            for (section, view) in self.views.iter().enumerate() {
                for (target, index) in in_code(self.elf, view, &wanted, &self.slots) {
                    let from = view.code.function(view.code.at(index)).map(|f| f.start);
                    if from == Some(target) {
                        continue; // itself
                    }
                    self.references.entry(target).or_default().push((section, index));
                    next.extend(from);
                }
            }
            known.append(&mut wanted);
            wanted = next.difference(&known).copied().collect();
            if wanted.is_empty() || wanted.len() > 10_000 {
                break;
            }
        }
    }

    fn in_data(&mut self, wanted: &BTreeSet<u64>) {
        let file = &self.elf.file;
        let table = file.section_by_name(".got");
        let table = table.map_or(0..0, |got| got.address()..got.address() + got.size());
        let mut is_relocated = false;
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            is_relocated |= r_type.0 == RELATIVE;
            let value = match relocation.target() {
                RelocationTarget::Symbol(_) if r_type.0 == JUMP_SLOT => continue,
                RelocationTarget::Symbol(index) => {
                    let symbols = file.dynamic_symbol_table();
                    let symbol = symbols.and_then(|table| table.symbol_by_index(index).ok());
                    symbol.map_or(0, |symbol| symbol.address())
                }
                _ => relocation.addend().cast_unsigned(),
            };
            if !wanted.contains(&value) {
                continue;
            }
            if table.contains(&place) {
                self.slots.insert(place, value);
            } else {
                self.pointers.insert(value);
            }
        }
        // Packed relocations leave the addresses in place, as no relocations at all do.
        if !is_relocated || file.section_by_name(".relr.dyn").is_some() {
            self.in_words(wanted);
        }
    }

    /// Without relocations of their own, addresses are plain words of data.
    fn in_words(&mut self, wanted: &BTreeSet<u64>) {
        for section in self.elf.file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let is_data = sh_flags.0 & LOADED_OR_CODE == LOADED;
            let Ok(bytes) = section.data() else { continue };
            if is_data {
                let (words, _) = bytes.as_chunks::<8>();
                let words = words.iter().map(|word| u64::from_le_bytes(*word));
                self.pointers.extend(words.filter(|word| wanted.contains(word)));
            }
        }
    }

    fn ways(&self, function: u64, depth: usize) -> Ways {
        let references = self.references.get(&function).map_or(&[][..], Vec::as_slice);
        if references.is_empty() && !self.pointers.contains(&function) {
            return Ways::None;
        }
        if self.pointers.contains(&function) || depth >= DEPTH {
            return Ways::Open;
        }
        let mut guard = None;
        for (section, index) in references {
            let view = &self.views[*section];
            let closed = self.guard(view, *index).or_else(|| {
                let from = view.code.function(view.code.at(*index))?;
                // A function that nobody in here refers to may be called from elsewhere.
                match self.ways(from.start, depth + 1) {
                    Ways::Closed(guard) => Some(guard),
                    _ => None,
                }
            });
            match closed {
                Some(closed) => guard = Some(closed),
                None => return Ways::Open,
            }
        }
        guard.map_or(Ways::Open, Ways::Closed)
    }

    /// The function whose constant answer skips a place, if there is one.
    fn guard(&self, view: &View<'_, '_>, place: usize) -> Option<String> {
        let (first, last) = view.code.bounds(place);
        let start = first.max(place.saturating_sub(GUARD));
        (start..last.min(place + 16)).rev().find_map(|call| {
            let (Branch::Call, target) = branch_to(call, view.code.word(call))? else {
                return None;
            };
            let target = view.code.at(target);
            let (name, inside) = self.elf.target(target);
            let inside = inside?;
            (self.is_always_zero(inside) && is_skipped(view, call, place))
                .then(|| name.map_or_else(|| format!("{inside:#x}"), str::to_owned))
        })
    }

    /// `[bti c;] mov w0, #0; ret`.
    fn is_always_zero(&self, function: u64) -> bool {
        let view = self.views.iter().find(|view| view.code.holds(function));
        view.is_some_and(|view| {
            let Some(mut index) = view.code.index(function) else { return false };
            index += usize::from(view.code.word(index) & 0xFFFF_FF3F == 0xD503_241F);
            insn::constant(view.code.word(index)) == Some((0, 0))
                && view.code.word(index + 1) == insn::RET
        })
    }
}

/// Whether a place is never come to, or what it prepares never chosen, when the call answers 0.
fn is_skipped(view: &View<'_, '_>, call: usize, place: usize) -> bool {
    let mut compared = false;
    for index in call + 1..call + 24 {
        let word = view.code.word(index);
        if let Some((kind, target)) = branch_to(index, word) {
            let taken = match kind {
                Branch::Zero(0, on_zero) | Branch::Bit(0, _, on_zero) => on_zero,
                Branch::Flags(condition) if compared && condition < 2 => condition == 0,
                _ => return false,
            };
            // Taken: what it jumps over is skipped. Not taken: what it jumps to, if nothing else
            // comes there from above.
            return if taken {
                place > index && place < target
            } else {
                target <= place && is_separate(view, index, target, place)
            };
        }
        if insn::compare_number(word) == Some((0, 0)) || is_test_of_result(word) {
            compared = true;
        } else if insn::sets_flags(word) {
            compared = false;
        }
        // CSEL: of two addresses the one for "not zero" is never taken.
        let selects = word & 0x7FE0_0C00 == 0x1A80_0000;
        if selects && compared {
            let loser = match word >> 12 & 15 {
                0 => insn::rm(word),
                1 => insn::rn(word),
                _ => return false,
            };
            return place < index && prepares(view, place, index, loser);
        }
        // Masking and cutting keep a zero.
        let keeps = insn::logical_number(word).is_some() || insn::bit_field(word).is_some();
        let keeps = keeps && insn::rn(word) == 0;
        if insn::writes(word) & 1 != 0 && !compared && !keeps {
            return false;
        }
    }
    false
}

fn is_test_of_result(word: u32) -> bool {
    // tst w0, w0; tst w0, #...
    word & 0x7FFF_FFFF == 0x6A00_001F || (word & 0x7F80_03FF == 0x7200_001F)
}

/// Whether code at `target` up to `place` is only come to by the branch: what stands before it does
/// not fall through, and it has no way out before `place`.
fn is_separate(view: &View<'_, '_>, branch: usize, target: usize, place: usize) -> bool {
    let ends = |index: usize| {
        let word = view.code.word(index);
        word == insn::RET || matches!(insn::branch(word), Some((Branch::Always, _)))
    };
    let before = target.checked_sub(1).is_some_and(ends);
    before && target != branch && !(target..place).any(ends)
}

/// Whether the address taken at `place` is in the register at `index`.
fn prepares(view: &View<'_, '_>, place: usize, index: usize, register: u8) -> bool {
    let last = (place..index)
        .rev()
        .find(|at| insn::writes(view.code.word(*at)) & insn::bit(register) != 0);
    last.is_some_and(|last| {
        last == place || last <= place + ADDRESS && rd(view.code.word(place)) == register
    })
}

/// Calls of the functions, and places where their address is made: (function, index).
fn in_code(
    elf: &Elf<'_>,
    view: &View<'_, '_>,
    wanted: &BTreeSet<u64>,
    slots: &BTreeMap<u64, u64>,
) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let (Some(low), Some(high)) = (wanted.first(), wanted.last()) else { return found };
    let pages = wanted.iter().chain(slots.keys());
    let pages: BTreeSet<u64> = pages.map(|address| address & !0xFFF).collect();
    let mut stubs: HashMap<u64, u64> = HashMap::new();
    stubs.extend(elf.stubs.iter().filter_map(|(stub, name)| {
        let target = *elf.defined.get(name)?;
        wanted.contains(&target).then_some((*stub, target))
    }));
    let first_stub = stubs.keys().min().copied().unwrap_or(u64::MAX);
    let last_stub = stubs.keys().max().copied().unwrap_or(0);
    let code = view.code;
    let (words, _) = code.bytes.as_chunks::<4>();
    for (index, bytes) in words.iter().enumerate() {
        let word = u32::from_le_bytes(*bytes);
        match word >> 24 {
            0x14..=0x17 | 0x94..=0x97 | 0x54 | 0x34..=0x37 | 0xB4..=0xB7 => {
                let Some((_, target)) = branch_to(index, word) else { continue };
                let target = code.at(target);
                if (*low..=*high).contains(&target) && wanted.contains(&target) {
                    found.push((target, index));
                } else if (first_stub..=last_stub).contains(&target)
                    && let Some(target) = stubs.get(&target)
                {
                    found.push((*target, index));
                }
            }
            top if top & 0x1F == 0x10 => {
                found.extend(taken(view, index, word, &pages, wanted, slots));
            }
            _ => {}
        }
    }
    found
}

/// The function whose address an ADRP with its ADD, an ADRP with a load from a slot, or an ADR makes,
/// and where it is in the register.
fn taken(
    view: &View<'_, '_>,
    index: usize,
    word: u32,
    pages: &BTreeSet<u64>,
    wanted: &BTreeSet<u64>,
    slots: &BTreeMap<u64, u64>,
) -> Option<(u64, usize)> {
    let address = view.code.at(index);
    if word >> 31 == 0 {
        // ADR has the fields of ADRP, in bytes.
        let distance = adrp(word, 0).cast_signed() >> 12;
        let target = address.wrapping_add_signed(distance);
        return wanted.contains(&target).then_some((target, index));
    }
    let page = adrp(word, address);
    if !pages.contains(&page) {
        return None;
    }
    (index + 1..=index + ADDRESS).find_map(|next| {
        let other = view.code.word(next);
        if insn::rn(other) != rd(word) {
            return None;
        }
        if other & 0xFFC0_0000 == 0xF940_0000 {
            let slot = page.wrapping_add(u64::from(other >> 10 & 0xFFF) * 8);
            return slots.get(&slot).map(|function| (*function, next));
        }
        let (_, _, number) = insn::add_number(other)?;
        let target = page.wrapping_add_signed(number);
        wanted.contains(&target).then_some((target, next))
    })
}
