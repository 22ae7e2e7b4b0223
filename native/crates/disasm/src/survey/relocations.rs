//! The dynamic relocations, without what linkers want to know of them: programs have hundreds of
//! thousands.

use object::elf::{SHT_CREL, SHT_REL, SectionHeader64};
use object::read::elf::{Rela, SectionHeader};
use object::{LittleEndian, Object, RelocationFlags, RelocationTarget, SymbolIndex};

use super::file::File;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// The address that is changed.
    pub place: u64,
    /// Its type, a number of the architecture's.
    pub kind: u32,
    /// The dynamic symbol that it is about.
    pub symbol: Option<SymbolIndex>,
    pub addend: u64,
}

/// Gives each to `take`, in their order in the file.
pub fn each(file: &File<'_>, mut take: impl FnMut(Relocation)) {
    // Other forms than the usual are left to `object`.
    if sections(file).any(|section| matches!(section.sh_type(LittleEndian), SHT_REL | SHT_CREL)) {
        return in_any_form(file, take);
    }
    for section in sections(file) {
        let Ok(Some((entries, _))) = section.rela(LittleEndian, file.data()) else { continue };
        for entry in entries {
            take(Relocation {
                place: entry.r_offset(LittleEndian),
                kind: entry.r_type(LittleEndian, false).0,
                symbol: entry.symbol(LittleEndian, false),
                addend: entry.r_addend(LittleEndian).cast_unsigned(),
            });
        }
    }
}

/// How many there are at most, of the usual form.
pub fn count(file: &File<'_>) -> usize {
    let tables = sections(file).filter_map(|section| {
        let (entries, _) = section.rela(LittleEndian, file.data()).ok()??;
        Some(entries.len())
    });
    tables.sum()
}

/// The sections that speak of dynamic symbols.
fn sections<'f>(file: &'f File<'_>) -> impl Iterator<Item = &'f SectionHeader64<LittleEndian>> {
    let symbols = file.elf_dynamic_symbol_table().section();
    let sections = file.elf_section_table().iter().skip(1);
    sections.filter(move |section| section.link(LittleEndian) == symbols)
}

fn in_any_form(file: &File<'_>, mut take: impl FnMut(Relocation)) {
    for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => Some(index),
            _ => None,
        };
        let addend = relocation.addend().cast_unsigned();
        take(Relocation { place, kind: r_type.0, symbol, addend });
    }
}
