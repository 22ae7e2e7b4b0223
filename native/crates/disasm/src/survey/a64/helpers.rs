//! Outline-atomics helpers, known from their body and named as libgcc names them.
//!
//! `[bti c;] adrp x16, FLAG; ldrb w16, [x16, FLAG]; cbz w16, F; LSE; ret; F: LL/SC; [dmb ish;] ret`.
//! Operation, size and order come from the LSE instruction; a barrier in the fallback is what only
//! the `_sync` variants have. Source: gcc/libgcc/config/aarch64/lse.S.

use std::ops::Range;

use super::super::code::Code;
use super::super::parts;
use super::blocks::{Ask, Block, candidates, each, index_of, jump, jump_to, mask};
use super::class::{Class, Event, PART};
use super::insn::{Branch, RET, adrp, branch_to};

const BTI_C: u32 = 0xD503_245F;
const DMB_ISH: u32 = 0xD503_3BBF;
/// The longest fallback has ten instructions.
const FALLBACK: usize = 14;

/// A helper in one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperBody {
    pub name: String,
    /// Indices of the first word and after the last.
    pub start: usize,
    pub end: usize,
    /// The address of the flag that it reads, in linked files.
    pub flag: u64,
}

impl HelperBody {
    /// Whether it has the full barrier of `__sync_*`.
    pub fn is_sync(&self) -> bool {
        self.name.ends_with("_sync")
    }
}

/// The helpers of a section, in order.
pub fn find(code: &Code<'_>, events: &[Event]) -> Vec<HelperBody> {
    let lse = events.iter().filter(|event| event.class.is_lse());
    lse.filter_map(|event| body(code, event.index as usize, event.class)).collect()
}

fn body(code: &Code<'_>, lse: usize, class: Class) -> Option<HelperBody> {
    let first = lse.checked_sub(3)?;
    let (page, load, test) = (code.word(first), code.word(lse - 2), code.word(lse - 1));
    let shaped = page & 0x9F00_001F == 0x9000_0010
        && load & 0xFFC0_03FF == 0x3940_0210
        && test & 0xFF00_001F == 0x3400_0010
        && code.word(lse + 1) == RET;
    if !shaped {
        return None;
    }
    let (_, fallback) = branch_to(lse - 1, test)?;
    if fallback <= lse || fallback >= code.len() {
        return None;
    }
    let words = (fallback..fallback + FALLBACK).take_while(|index| code.word(*index) != RET);
    let last = words.clone().last()?;
    let has_exclusive = words.clone().any(|index| code.word(index) & 0x3F00_0000 == 0x0800_0000);
    if !has_exclusive || code.word(last + 1) != RET {
        return None;
    }
    let is_sync = words.clone().any(|index| code.word(index) == DMB_ISH);
    let marked = first > 0 && code.word(first - 1) == BTI_C;
    let flag = adrp(page, code.at(first)).wrapping_add(u64::from(load >> 10 & 0xFFF));
    let name = name(code.word(lse), class, is_sync)?;
    Some(HelperBody { name, start: first - usize::from(marked), end: last + 2, flag })
}

/// The helper's name from its LSE instruction.
fn name(word: u32, class: Class, is_sync: bool) -> Option<String> {
    let size = 1u32 << (word >> 30);
    let (operation, size, acquire, release) = match class {
        Class::Cas => {
            let (acquire, release) = (word >> 22 & 1, word >> 15 & 1);
            let is_pair = word >> 23 & 1 == 0;
            let size = if is_pair { 8 << (word >> 30 & 1) } else { size };
            ("cas", size, acquire, release)
        }
        Class::Swp => ("swp", size, word >> 23 & 1, word >> 22 & 1),
        Class::LdOp => {
            const OPERATIONS: [&str; 8] =
                ["ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin"];
            (OPERATIONS[(word >> 12 & 7) as usize], size, word >> 23 & 1, word >> 22 & 1)
        }
        _ => return None,
    };
    let order = match (is_sync, acquire, release) {
        (true, ..) => "sync",
        (_, 0, 0) => "relax",
        (_, 1, 0) => "acq",
        (_, 0, _) => "rel",
        _ => "acq_rel",
    };
    Some(format!("__aarch64_{operation}{size}_{order}"))
}

/// Where helpers are called, by BL and by B as a tail call: which one of those that start at `starts`,
/// and the index of the call, in order.
pub fn calls(code: &Code<'_>, starts: &[u64]) -> Vec<(usize, u32)> {
    if starts.is_empty() {
        return Vec::new();
    }
    parts::map(code.len(), PART, |part| calls_in(code, part, starts)).concat()
}

/// Jumps and calls to anywhere from the first helper to the last, as `jump` gives their targets.
struct Jumps {
    first: u32,
    span: u32,
}

impl Ask for Jumps {
    #[inline(always)]
    fn hits(&self, start: u32, block: &Block) -> Block {
        let is_in = |target: u32| target.wrapping_sub(self.first) <= self.span;
        each(start, block, |index, word| mask(is_in(jump(index, word))))
    }
}

fn calls_in(code: &Code<'_>, part: Range<usize>, starts: &[u64]) -> Vec<(usize, u32)> {
    let mut calls = Vec::new();
    let (Some(low), Some(high)) = (starts.first(), starts.last()) else { return calls };
    let (first, last) = (index_of(code, *low), index_of(code, *high));
    let jumps = Jumps { first: jump_to(first), span: jump_to(last.wrapping_sub(first)) };
    candidates(code, part, &jumps, |index, word| {
        if let Some((Branch::Call | Branch::Always, target)) = branch_to(index, word)
            && let Ok(found) = starts.binary_search(&code.at(target))
            && !code.data.contains(code.at(index))
        {
            calls.push((found, index as u32));
        }
    });
    calls
}

#[cfg(test)]
mod tests {
    use super::super::class;
    use super::*;

    fn found(words: &[u32]) -> Vec<HelperBody> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = Code { address: 0x1000, bytes: &bytes, ..Code::default() };
        find(&code, &class::scan(&code).listed)
    }

    /// As libgcc has them: cas4_sync, with a barrier in the fallback.
    const CAS4_SYNC: [u32; 14] = [
        BTI_C,
        0x9000_0010,
        0x3940_0210,
        0x3400_0070,
        0x88E0_FC41,
        RET,
        0x2A00_03F0,
        0x885F_7C40,
        0x6B10_001F,
        0x5400_0061,
        0x8811_FC41,
        0x35FF_FF91,
        DMB_ISH,
        RET,
    ];

    #[test]
    fn a_helper_is_named_from_its_body() {
        let helpers = found(&CAS4_SYNC);
        assert_eq!(helpers.len(), 1);
        assert_eq!(helpers[0].name, "__aarch64_cas4_sync");
        assert_eq!((helpers[0].start, helpers[0].end), (0, 14));
        // casp x0, x1, x2, x3, [x4], relaxed.
        let pair = [
            0x9000_0010,
            0x3940_0210,
            0x3400_0070,
            0x4820_7C82,
            RET,
            0xAA00_03F0,
            0xC87F_0480,
            0x35FF_FF6F,
            RET,
        ];
        assert_eq!(found(&pair)[0].name, "__aarch64_cas16_relax");
    }

    #[test]
    fn what_lacks_a_part_is_no_helper() {
        for (place, what) in [(1, "flag"), (3, "test"), (5, "return"), (13, "end")] {
            let mut words = CAS4_SYNC;
            words[place] = super::super::insn::NOP;
            assert_eq!(found(&words), [], "without its {what}");
        }
    }

    #[test]
    fn calls_and_tail_calls_are_found_where_they_stand() {
        let words: [u32; 4] = [0x9400_0003, 0x1400_0002, 0x9400_0002, RET];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = Code { address: 0x1000, bytes: &bytes, ..Code::default() };
        assert_eq!(calls(&code, &[0x100C, 0x1010]), [(0, 0), (0, 1), (1, 2)]);
        assert_eq!(calls(&code, &[0x1008, 0x100C]), [(1, 0), (1, 1)]);
    }
}
