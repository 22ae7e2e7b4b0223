//! Linkage stubs (the PLT): which symbol the stub at an address jumps to.

use std::collections::HashMap;
use std::ops::Range;

use object::read::elf::Sym;
use object::{LittleEndian, Object, ObjectSection, SymbolIndex};

use super::addresses::Addresses;
use super::code::Code;
use super::file::{Arch, File};
use super::relocations::{self, Relocation};
use super::symbols::Table;

/// Slots that the loader fills with a symbol's address; and with what a resolver returns.
const SLOTS: [u32; 4] = [1025, 1026, 6, 7];
const RESOLVED: [u32; 2] = [1032, 37];
/// Of A64: what a stub jumps by, and an address in the image itself.
const JUMP_SLOT: u32 = 1026;
const RELATIVE: u32 = 1027;

/// What relocations say of calls.
#[derive(Debug, Default)]
pub struct Linkage<'a> {
    /// Stub address to symbol.
    pub stubs: Addresses<&'a str>,
    /// Symbols of stubs that this image defines itself.
    pub defined: HashMap<&'a str, u64>,
    /// Resolvers of indirect functions.
    pub resolvers: Vec<u64>,
    pub pointers: Pointers,
}

/// Addresses of code that the loader puts into data, of A64 images.
#[derive(Debug, Default)]
pub struct Pointers {
    /// Where each is put, counted from `base`, and the address, from the same.
    list: Vec<(u32, u32)>,
    base: u64,
    /// Those too far from there.
    far: Vec<(u64, u64)>,
    /// Whether relocations name any; otherwise they may be in the data already.
    pub is_relocated: bool,
}

impl Pointers {
    fn add(&mut self, code: &Range<u64>, table: &Table<'_>, relocation: Relocation) {
        self.is_relocated |= relocation.kind == RELATIVE;
        let value = match relocation.symbol {
            Some(_) if relocation.kind == JUMP_SLOT => return,
            Some(symbol) => table.symbol(symbol).map_or(0, |symbol| symbol.st_value(LittleEndian)),
            None => relocation.addend,
        };
        if !code.contains(&value) {
            return;
        }
        let near = |address: u64| address.checked_sub(code.start)?.try_into().ok();
        match (near(relocation.place), near(value)) {
            (Some(place), Some(value)) => self.list.push((place, value)),
            _ => self.far.push((relocation.place, value)),
        }
    }

    /// Where each is put, and the address; not what stubs jump by.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let near = self.list.iter();
        let near = near
            .map(|(place, value)| (self.base + u64::from(*place), self.base + u64::from(*value)));
        near.chain(self.far.iter().copied())
    }
}

/// Slots that the loader fills, each with the dynamic symbol that it is for.
type Slots = Addresses<SymbolIndex>;

/// Reads the relocations and the stubs.
pub fn read<'a>(file: &File<'a>, codes: &[Code<'a>], arch: Arch) -> Linkage<'a> {
    let mut linkage = Linkage::default();
    let mut slots = Vec::new();
    let table = file.elf_dynamic_symbol_table();
    let code = codes.iter().map(|code| code.address).min().unwrap_or(0)
        ..codes.iter().map(|code| code.address + code.bytes.len() as u64).max().unwrap_or(0);
    linkage.pointers.base = code.start;
    if arch == Arch::A64 {
        linkage.pointers.list.reserve_exact(relocations::count(file));
    }
    relocations::each(file, |relocation| {
        if arch == Arch::A64 {
            linkage.pointers.add(&code, table, relocation);
        }
        if RESOLVED.contains(&relocation.kind) {
            linkage.resolvers.push(relocation.addend);
        }
        if let Some(symbol) = relocation.symbol.filter(|_| SLOTS.contains(&relocation.kind)) {
            slots.push((relocation.place, symbol));
        }
    });
    let slots = Slots::of(slots);
    let mut stubs = Vec::new();
    let mut add = |places: &[u64], symbol: SymbolIndex| {
        let Ok(symbol) = table.symbol(symbol) else { return };
        let Ok(name) = table.symbol_name(LittleEndian, symbol) else { return };
        let Ok(name) = std::str::from_utf8(name) else { return };
        stubs.extend(places.iter().map(|place| (*place, name)));
        let address = symbol.st_value(LittleEndian);
        if address != 0 && symbol.is_definition(LittleEndian, table.strings()) {
            linkage.defined.insert(name, address);
        }
    };
    for section in file.sections() {
        if !section.name().is_ok_and(|name| name.starts_with(".plt")) {
            continue;
        }
        let Some(code) = codes.iter().find(|code| code.address == section.address()) else {
            continue;
        };
        match arch {
            Arch::A64 => a64(code, &slots, &mut add),
            Arch::X64 => x64(code, &slots, &mut add),
        }
    }
    linkage.stubs = Addresses::of(stubs);
    linkage
}

/// `[bti c;] adrp x16, SLOT; ldr x17, [x16, #...]; add x16, ...; br x17`.
fn a64(code: &Code<'_>, slots: &Slots, add: &mut impl FnMut(&[u64], SymbolIndex)) {
    const BTI_C: u32 = 0xD503_245F;
    for index in 0..code.len() {
        let (page, load) = (code.word(index), code.word(index + 1));
        if page & 0x9F00_001F != 0x9000_0010 || load & 0xFFC0_03FF != 0xF940_0211 {
            continue;
        }
        let slot = super::a64::insn::adrp(page, code.at(index))
            .wrapping_add(u64::from(load >> 10 & 0xFFF) * 8);
        if let Some(&symbol) = slots.get(slot) {
            let marked = index > 0 && code.word(index - 1) == BTI_C;
            add(&[code.at(index - usize::from(marked)), code.at(index)], symbol);
        }
    }
}

/// `[endbr64;] [bnd] jmp *SLOT(%rip)`.
fn x64(code: &Code<'_>, slots: &Slots, add: &mut impl FnMut(&[u64], SymbolIndex)) {
    const ENDBR64: [u8; 4] = [0xF3, 0x0F, 0x1E, 0xFA];
    for at in memchr::memmem::find_iter(code.bytes, &[0xFF, 0x25]) {
        let Some(offset) = code.bytes.get(at + 2..at + 6).and_then(|four| four.try_into().ok())
        else {
            continue;
        };
        let next = code.address.wrapping_add(at as u64 + 6);
        let slot = next.wrapping_add_signed(i64::from(i32::from_le_bytes(offset)));
        if let Some(&symbol) = slots.get(slot) {
            let bnd = usize::from(at > 0 && code.bytes[at - 1] == 0xF2);
            let marked = code.bytes[..at - bnd].ends_with(&ENDBR64);
            let start = at - bnd - if marked { 4 } else { 0 };
            add(&[code.address.wrapping_add(start as u64)], symbol);
        }
    }
}
