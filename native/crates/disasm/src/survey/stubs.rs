//! Linkage stubs (the PLT): which symbol the stub at an address jumps to.

use std::collections::HashMap;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable};

use super::code::Code;
use super::elf::{Arch, File};
use super::relocations;

/// Slots that the loader fills with a symbol's address; and with what a resolver returns.
const SLOTS: [u32; 4] = [1025, 1026, 6, 7];
const RESOLVED: [u32; 2] = [1032, 37];

/// What relocations say of calls.
#[derive(Debug, Default)]
pub struct Linkage<'a> {
    /// Stub address to symbol.
    pub stubs: HashMap<u64, &'a str>,
    /// Symbols of stubs that this image defines itself.
    pub defined: HashMap<&'a str, u64>,
    /// Resolvers of indirect functions.
    pub resolvers: Vec<u64>,
}

/// Reads the relocations and the stubs.
pub fn read<'a>(file: &File<'a>, codes: &[Code<'a>], arch: Arch) -> Linkage<'a> {
    let mut linkage = Linkage::default();
    let mut slots: HashMap<u64, &'a str> = HashMap::new();
    let symbols = file.dynamic_symbol_table();
    relocations::each(file, |relocation| {
        if RESOLVED.contains(&relocation.kind) {
            linkage.resolvers.push(relocation.addend);
        }
        if !SLOTS.contains(&relocation.kind) {
            return;
        }
        let symbol = relocation.symbol.zip(symbols.as_ref());
        let symbol = symbol.and_then(|(index, table)| table.symbol_by_index(index).ok());
        if let Some(name) = symbol.and_then(|symbol| symbol.name().ok()) {
            slots.insert(relocation.place, name);
        }
    });
    for section in file.sections() {
        if !section.name().is_ok_and(|name| name.starts_with(".plt")) {
            continue;
        }
        let Some(code) = codes.iter().find(|code| code.address == section.address()) else {
            continue;
        };
        match arch {
            Arch::A64 => a64(code, &slots, &mut linkage.stubs),
            Arch::X64 => x64(code, &slots, &mut linkage.stubs),
        }
    }
    let mut wanted: HashMap<&'a str, u64> = linkage.stubs.values().map(|name| (*name, 0)).collect();
    for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
        if let Some(address) = symbol.name().ok().and_then(|name| wanted.get_mut(name)) {
            *address = symbol.address();
        }
    }
    wanted.retain(|_, address| *address != 0);
    linkage.defined = wanted;
    linkage
}

/// `[bti c;] adrp x16, SLOT; ldr x17, [x16, #...]; add x16, ...; br x17`.
fn a64<'a>(code: &Code<'a>, slots: &HashMap<u64, &'a str>, stubs: &mut HashMap<u64, &'a str>) {
    const BTI_C: u32 = 0xD503_245F;
    for index in 0..code.len() {
        let (page, load) = (code.word(index), code.word(index + 1));
        if page & 0x9F00_001F != 0x9000_0010 || load & 0xFFC0_03FF != 0xF940_0211 {
            continue;
        }
        let slot = super::a64::insn::adrp(page, code.at(index))
            .wrapping_add(u64::from(load >> 10 & 0xFFF) * 8);
        if let Some(name) = slots.get(&slot) {
            let marked = index > 0 && code.word(index - 1) == BTI_C;
            stubs.insert(code.at(index - usize::from(marked)), name);
            stubs.insert(code.at(index), name);
        }
    }
}

/// `[endbr64;] [bnd] jmp *SLOT(%rip)`.
fn x64<'a>(code: &Code<'a>, slots: &HashMap<u64, &'a str>, stubs: &mut HashMap<u64, &'a str>) {
    const ENDBR64: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];
    for at in memchr::memmem::find_iter(code.bytes, &[0xFF, 0x25]) {
        let Some(offset) = code.bytes.get(at + 2..at + 6).and_then(|four| four.try_into().ok())
        else {
            continue;
        };
        let next = code.address.wrapping_add(at as u64 + 6);
        let slot = next.wrapping_add_signed(i64::from(i32::from_le_bytes(offset)));
        if let Some(name) = slots.get(&slot) {
            let bnd = usize::from(at > 0 && code.bytes[at - 1] == 0xF2);
            let marked = code.bytes[..at - bnd].ends_with(&ENDBR64);
            let start = at - bnd - if marked { 4 } else { 0 };
            stubs.insert(code.address.wrapping_add(start as u64), name);
        }
    }
}
