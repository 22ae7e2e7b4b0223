//! Where a function refers to a variable: by an address relative to the instruction, or by the address
//! itself.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Instruction, Register};

use super::{Reference, Symbol, Symbols};
use crate::survey::a64::insn;
use crate::survey::file::{self, Arch};

/// Instructions behind an ADRP in which the rest of an address may be.
const ADDRESS_INSNS: usize = 8;

/// The instructions of all functions of a name that refer to a variable of a name, in order.
pub fn of(symbols: &Symbols<'_, '_>, function: &str, symbol: &str) -> Vec<Reference> {
    let ranges: Vec<_> = symbols
        .named(symbol)
        .iter()
        .map(|it| it.address..it.address.saturating_add(it.bytes.max(1)))
        .collect();
    let mut found = Vec::new();
    for part in symbols.named(function) {
        let Some(code) = symbols.code(part) else { continue };
        let addresses = match file::arch(symbols.file) {
            Arch::X64 => in_x86_64(code, part, &ranges),
            Arch::A64 => in_a64(code, part, &ranges),
        };
        found.extend(addresses.into_iter().map(|address| Reference {
            function: function.to_owned(),
            symbol: symbol.to_owned(),
            address,
            offset: part.offset.map(|offset| offset + address.wrapping_sub(part.address)),
        }));
    }
    found
}

fn is_in(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

fn in_x86_64(code: &[u8], function: &Symbol, ranges: &[Range<u64>]) -> Vec<u64> {
    let decoder = Decoder::with_ip(64, code, function.address, DecoderOptions::NONE);
    let refers = |instruction: &Instruction| {
        let is_absolute = instruction.memory_base() == Register::None
            && instruction.memory_index() == Register::None
            && instruction.memory_displ_size() > 0;
        let is_address = instruction.is_ip_rel_memory_operand() || is_absolute;
        is_address && is_in(ranges, instruction.memory_displacement64())
    };
    decoder.into_iter().filter(refers).map(|instruction| instruction.ip()).collect()
}

/// An ADRP has the page, and an ADD, load or store soon behind it the rest.
fn in_a64(code: &[u8], function: &Symbol, ranges: &[Range<u64>]) -> Vec<u64> {
    let words: Vec<u32> =
        code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let at = |index: usize| function.address.wrapping_add(index as u64 * 4);
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if word & 0x9F00_0000 != 0x9000_0000 {
            continue;
        }
        let (page, register) = (insn::adrp(*word, at(index)), insn::rd(*word));
        let rest = words.iter().enumerate().skip(index + 1).take(ADDRESS_INSNS);
        for (next, word) in rest {
            let target = rest_of(*word, register).map(|rest| page.wrapping_add_signed(rest));
            if target.is_some_and(|target| is_in(ranges, target)) {
                found.push(at(next));
            }
            if insn::writes(*word) & insn::bit(register) != 0 {
                break;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// What an instruction adds to a register to make an address.
fn rest_of(word: u32, register: u8) -> Option<i64> {
    if insn::rn(word) != register {
        return None;
    }
    if let Some((_, _, number)) = insn::add_number(word) {
        return Some(number);
    }
    // A load or store with an offset that is not negative, in units of what it moves.
    let is_offset = word & 0x3B00_0000 == 0x3900_0000;
    let is_quad = word >> 26 & 1 == 1 && word >> 23 & 1 == 1;
    let shift = if is_quad { 4 } else { word >> 30 };
    is_offset.then_some(i64::from(word >> 10 & 0xFFF) << shift)
}
