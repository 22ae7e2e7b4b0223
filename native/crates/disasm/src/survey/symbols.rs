//! The symbol tables, as they are in the file: programs have tens of thousands of symbols, of most of
//! which nobody ever asks the name.

use object::LittleEndian;
use object::elf::{FileHeader64, STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{SectionHeader, Sym, SymbolTable};

use super::code::{Function, Name, sort};
use super::file::{Arch, File};

/// A symbol table of a file.
pub type Table<'a> = SymbolTable<'a, FileHeader64<LittleEndian>>;

/// What the symbol tables say of one section.
#[derive(Default)]
pub struct Marks<'a> {
    pub functions: Vec<Function<'a>>,
    /// Address, and whether code begins there (else data). Both lists are in the order of addresses.
    pub mapping: Vec<(u64, bool)>,
}

/// By the number of their section.
pub fn marks<'a>(file: &File<'a>, arch: Arch) -> Vec<Marks<'a>> {
    let mut marks: Vec<Marks<'a>> = Vec::new();
    marks.resize_with(file.elf_section_table().len(), Marks::default);
    for (table, is_exported) in
        [(file.elf_symbol_table(), false), (file.elf_dynamic_symbol_table(), true)]
    {
        let names = names(file, table);
        let may_map = arch == Arch::A64 && !is_exported;
        for (index, symbol) in table.enumerate() {
            let size = symbol.st_size(LittleEndian);
            let is_function = size > 0 && matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
            if !may_map && !is_function {
                continue;
            }
            let section = table.symbol_section(LittleEndian, symbol, index).ok().flatten();
            let Some(marks) = section.and_then(|section| marks.get_mut(section.0)) else {
                continue;
            };
            let offset = symbol.st_name(LittleEndian) as usize;
            let Some(name) = names.get(offset..) else { continue };
            let (start, is_code) = (symbol.st_value(LittleEndian), name.starts_with(b"$x"));
            if may_map && (is_code || name.starts_with(b"$d")) {
                marks.mapping.push((start, is_code));
            }
            if is_function {
                let (end, name) = (start.saturating_add(size), Some(Name::at(name)));
                marks.functions.push(Function { start, end, name, is_exported });
            }
        }
    }
    for section in &mut marks {
        section.mapping.sort_unstable();
        sort(&mut section.functions);
    }
    marks
}

/// The bytes that the names of a table are in.
fn names<'a>(file: &File<'a>, table: &Table<'a>) -> &'a [u8] {
    let section = file.elf_section_table().section(table.string_section()).ok();
    section.and_then(|section| section.data(LittleEndian, file.data()).ok()).unwrap_or_default()
}
