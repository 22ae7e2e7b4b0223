//! Accelerated functions that can never run: nothing refers to them, or every way to them leads past
//! a call of a function that always returns 0.
//!
//! Ways are followed upward: a function with CRC32, PMULL, AES or SHA instructions, who calls it or
//! takes its address, who does that to those, at most `DEPTH` times. A way is closed if the place
//! where it begins is skipped after the constant answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use object::{Object, ObjectSection, SectionFlags};

use super::super::elf::Elf;
use super::super::report::{Kind, Sites};
use super::insn::{self, Branch, branch_to, rd};
use super::places::{ADDRESS, Places};
use super::view::View;
use super::wanted::Wanted;

const DEPTH: usize = 4;
const LOADED: u64 = 2;
const LOADED_OR_CODE: u64 = 6;
/// How far before a place its guard may be.
const GUARD: usize = 96;

/// More functions are not followed upward at once.
const MOST: usize = 10_000;

/// A place that refers to a function.
struct Reference {
    /// The function that it is in.
    from: Option<u64>,
    /// Whose constant answer skips it.
    guard: Option<String>,
}

/// A function by its first address, and which accelerated instructions it has.
type Accelerated = BTreeMap<u64, BTreeSet<&'static str>>;

/// Finds them.
pub fn find(views: &[View<'_, '_>]) -> Sites {
    let mut sites = Sites::default();
    let accelerated = accelerated(views);
    if accelerated.is_empty() {
        return sites;
    }
    let Some(elf) = views.first().map(|view| view.elf) else { return sites };
    if elf.kind == "relocatable" {
        return sites; // who refers to what is decided by the linker
    }
    let mut search = Search {
        elf,
        views,
        references: HashMap::new(),
        pointers: BTreeSet::new(),
        slots: BTreeMap::new(),
    };
    search.collect(&accelerated);
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
        view.add(&mut sites, kind, start, end);
    }
    sites
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

/// The function that a reference without a guard is in.
fn unguarded(reference: &Reference) -> Option<u64> {
    if reference.guard.is_none() { reference.from } else { None }
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
    /// To a function, for those that were looked for.
    references: HashMap<u64, Vec<Reference>>,
    /// Functions whose address is in data.
    pointers: BTreeSet<u64>,
    /// Slots of the global offset table that hold a function's address: code loads it from there.
    slots: BTreeMap<u64, u64>,
}

impl Search<'_, '_, '_> {
    /// Finds who refers to the functions, then who refers to those on which the answer depends.
    fn collect(&mut self, accelerated: &Accelerated) {
        for depth in 0..DEPTH {
            let wanted = self.undecided(accelerated);
            self.in_data(&Wanted::new(wanted, 2));
            // Those whose address is in data are decided.
            let wanted = self.undecided(accelerated);
            if wanted.is_empty() || depth > 0 && wanted.len() > MOST {
                break;
            }
            self.in_code(&wanted);
        }
    }

    fn in_code(&mut self, wanted: &BTreeSet<u64>) {
        let places = Places::new(self.elf, wanted, &self.slots);
        let mut found: HashMap<u64, Vec<Reference>> = HashMap::new();
        found.extend(wanted.iter().map(|function| (*function, Vec::new())));
        for view in self.views {
            for (target, index) in places.in_code(view) {
                let from = view.code.function(view.code.at(index)).map(|f| f.start);
                // Not itself, and not one that has been looked for before, by its slot.
                if from != Some(target)
                    && let Some(references) = found.get_mut(&target)
                {
                    references.push(Reference { from, guard: self.guard(view, index) });
                }
            }
        }
        self.references.extend(found);
    }

    /// Functions that were not looked for yet, and by which alone others may turn out closed.
    fn undecided(&self, accelerated: &Accelerated) -> BTreeSet<u64> {
        let mut known = HashMap::new();
        let mut found = BTreeSet::new();
        let mut next: BTreeSet<u64> = accelerated.keys().copied().collect();
        for depth in 0..DEPTH {
            let mut above = BTreeSet::new();
            for function in next {
                if !self.may_be_closed(function, depth, &mut known) {
                    continue;
                }
                match self.references.get(&function) {
                    Some(references) => above.extend(references.iter().filter_map(unguarded)),
                    None => _ = found.insert(function),
                }
            }
            next = above;
        }
        found
    }

    /// Whether `ways` may still say so of a function at a depth.
    fn may_be_closed(
        &self,
        function: u64,
        depth: usize,
        known: &mut HashMap<(u64, usize), bool>,
    ) -> bool {
        if depth >= DEPTH || self.pointers.contains(&function) {
            return false;
        }
        let Some(references) = self.references.get(&function) else { return true };
        if let Some(known) = known.get(&(function, depth)) {
            return *known;
        }
        let may = !references.is_empty()
            && references.iter().all(|reference| {
                let above = |from| self.may_be_closed(from, depth + 1, known);
                reference.guard.is_some() || reference.from.is_some_and(above)
            });
        known.insert((function, depth), may);
        may
    }

    fn in_data(&mut self, wanted: &Wanted) {
        let file = &self.elf.file;
        let table = file.section_by_name(".got");
        let table = table.map_or(0..0, |got| got.address()..got.address() + got.size());
        for (place, value) in self.elf.pointers.iter().filter(|(_, value)| wanted.contains(*value))
        {
            if table.contains(&place) {
                self.slots.insert(place, value);
            } else {
                self.pointers.insert(value);
            }
        }
        // Packed relocations leave the addresses in place, as no relocations at all do.
        if !self.elf.pointers.is_relocated || file.section_by_name(".relr.dyn").is_some() {
            self.in_words(wanted);
        }
    }

    /// Without relocations of their own, addresses are plain words of data.
    fn in_words(&mut self, wanted: &Wanted) {
        for section in self.elf.file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let is_data = sh_flags.0 & LOADED_OR_CODE == LOADED;
            let Ok(bytes) = section.data() else { continue };
            if is_data {
                let (words, _) = bytes.as_chunks::<8>();
                let words = words.iter().map(|word| u64::from_le_bytes(*word));
                self.pointers.extend(words.filter(|word| wanted.contains(*word)));
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
        for reference in references {
            let closed = reference.guard.clone().or_else(|| {
                // A function that nobody in here refers to may be called from elsewhere.
                match self.ways(reference.from?, depth + 1) {
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
            let inside = self.elf.inside(target)?;
            (self.is_always_zero(inside) && is_skipped(view, call, place)).then(|| {
                let name = self.elf.target(target);
                name.map_or_else(|| format!("{inside:#x}"), str::to_owned)
            })
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
