//! Where code refers to some functions: one pass over all words, most of which only cost a look at
//! a small table.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::addresses::Addresses;
use super::super::code::Code;
use super::super::elf::Elf;
use super::super::parts;
use super::blocks::{Ask, Block, Every, Pages, add_branches, candidates, each, index_of, mask};
use super::class::PART;
use super::insn::{self, adrp, branch_to, rd};
use super::view::View;
use super::wanted::Wanted;

/// How far behind ADRP the rest of an address may be.
pub const ADDRESS: usize = 8;

/// What is looked for in code: functions, and what leads to them.
pub struct Places<'w> {
    functions: Wanted,
    /// Pages of the functions and of their slots.
    pages: Wanted,
    slots: &'w BTreeMap<u64, u64>,
    /// Linkage stubs of the functions.
    stubs: Addresses<u64>,
    /// Functions and stubs.
    targets: Wanted,
}

impl<'w> Places<'w> {
    /// For functions whose addresses are also in these slots.
    pub fn new(elf: &Elf<'_>, functions: &BTreeSet<u64>, slots: &'w BTreeMap<u64, u64>) -> Self {
        let pages = functions.iter().chain(slots.keys()).map(|address| address & !0xFFF);
        let stubs = elf.stubs.iter().filter_map(|(stub, name)| {
            let target = *elf.defined.get(name)?;
            functions.contains(&target).then_some((stub, target))
        });
        let stubs = Addresses::of(stubs.collect());
        Self {
            functions: Wanted::new(functions.iter().copied(), 2),
            pages: Wanted::new(pages, 12),
            slots,
            targets: Wanted::new(
                functions.iter().copied().chain(stubs.iter().map(|stub| stub.0)),
                2,
            ),
            stubs,
        }
    }

    /// Calls of the functions, and places where their address is made: (function, index).
    pub fn in_code(&self, view: &View<'_, '_>) -> Vec<(u64, usize)> {
        let code = view.code;
        let few = Few::new(code, &self.targets, &self.pages);
        let in_part = |part: Range<usize>| {
            let mut found = Vec::new();
            let refer = |index, word| found.extend(self.reference(view, index, word));
            match &few {
                Some(few) => candidates(code, part, few, refer),
                None => candidates(code, part, &Every, refer),
            }
            found
        };
        parts::map(code.len(), PART, in_part).concat()
    }

    fn reference(&self, view: &View<'_, '_>, index: usize, word: u32) -> Option<(u64, usize)> {
        if word >> 24 & 0x1F == 0x10 {
            return self.taken(view, index, word);
        }
        let (_, target) = branch_to(index, word)?;
        let target = view.code.at(target);
        if self.functions.contains(target) {
            return Some((target, index));
        }
        self.stubs.get(target).map(|function| (*function, index))
    }

    /// The function whose address an ADRP with its ADD, an ADRP with a load from a slot, or an ADR
    /// makes, and where it is in the register.
    fn taken(&self, view: &View<'_, '_>, index: usize, word: u32) -> Option<(u64, usize)> {
        let address = view.code.at(index);
        if word >> 31 == 0 {
            // ADR has the fields of ADRP, in bytes.
            let distance = adrp(word, 0).cast_signed() >> 12;
            let target = address.wrapping_add_signed(distance);
            return self.functions.contains(target).then_some((target, index));
        }
        let page = adrp(word, address);
        if !self.pages.contains(page) {
            return None;
        }
        (index + 1..=index + ADDRESS).find_map(|next| {
            let other = view.code.word(next);
            if insn::rn(other) != rd(word) {
                return None;
            }
            if other & 0xFFC0_0000 == 0xF940_0000 {
                let slot = page.wrapping_add(u64::from(other >> 10 & 0xFFF) * 8);
                return self.slots.get(&slot).map(|function| (*function, next));
            }
            let (_, _, number) = insn::add_number(other)?;
            let target = page.wrapping_add_signed(number);
            self.functions.contains(target).then_some((target, next))
        })
    }
}

/// So few targets and pages that each is compared with.
struct Few {
    targets: Vec<u32>,
    pages: Pages,
}

const FEW: usize = 24;

impl Few {
    /// `None` if there are too many.
    fn new(code: &Code<'_>, targets: &Wanted, pages: &Wanted) -> Option<Self> {
        let targets: Vec<u32> = targets.iter().map(|target| index_of(code, target)).collect();
        let few = Self { targets, pages: Pages::of(code, pages.iter()) };
        (few.targets.len() + few.pages.len() <= FEW).then_some(few)
    }
}

impl Ask for Few {
    #[inline(always)]
    fn hits(&self, start: u32, block: &Block) -> Block {
        let is_address = |word: u32| word & 0x9F00_0000 == 0x1000_0000; // ADR
        let mut hits = each(start, block, |_, word| mask(is_address(word)));
        add_branches(&mut hits, start, block, &self.targets);
        self.pages.add_taken(&mut hits, start, block);
        hits
    }
}
