//! An ELF image, read once: code, functions, coverage, linkage stubs, the dynamic table.

use std::collections::HashMap;

use object::read::elf::ProgramHeader;
use object::{
    LittleEndian, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex,
};

use super::addresses::Addresses;
use super::code::{CallRelocation, Code, Function, Name, arrange, merged, sort};
use super::dynamic::Dynamic;
use super::file::{Arch, File, LOAD, arch, bytes_at, parse};
use super::ranges::Ranges;
use super::stubs::{Linkage, Pointers};
use super::symbols::Marks;
use super::{eh_frame, gopclntab, parts, stubs, symbols};

const EXECUTABLE_SECTION: u64 = 4;
const EXECUTABLE_SEGMENT: u32 = 1;
const NOBITS: u32 = 8;
const EH_FRAME_HEADER: u32 = 0x6474_E550;

/// An image, understood.
pub struct Elf<'a> {
    pub file: File<'a>,
    pub arch: Arch,
    pub kind: &'static str,
    pub codes: Vec<Code<'a>>,
    /// What `covered` of the code is from.
    pub by: &'static str,
    pub stripped: bool,
    pub is_go: bool,
    pub dynamic: Dynamic<'a>,
    /// Linkage stubs: their address, the symbol they jump to.
    pub stubs: Addresses<&'a str>,
    /// Functions of this image that its own stubs jump to.
    pub defined: HashMap<&'a str, u64>,
    /// Resolvers of indirect functions.
    pub resolvers: Vec<u64>,
    /// Addresses of code in data.
    pub pointers: Pointers,
}

impl<'a> Elf<'a> {
    /// Reads it, or says why it cannot be. `beside` looks at the bytes of its code and data
    /// meanwhile: what is known of them is not there yet.
    pub fn read<T: Send>(
        bytes: &'a [u8],
        beside: impl Fn(&File<'a>, Arch, &[Code<'a>]) -> T + Sync,
    ) -> Result<(Self, T), String> {
        let file = parse(bytes)?;
        let arch = arch(&file);
        let is_linked = file.kind() != ObjectKind::Relocatable;
        let mut codes = code_of(&file, bytes, is_linked)?;
        if codes.is_empty() && is_linked {
            return Err("no code in it (is it separate debugging information?)".to_owned());
        }
        let dynamic = Dynamic::read(&file, bytes);
        let kind = dynamic.kind(&file);
        let is_large = bytes.len() >= parts::WORTH_A_THREAD;
        let linked = || {
            let frames = if is_linked { frames(&file, bytes) } else { Vec::new() };
            (frames, stubs::read(&file, &codes, arch))
        };
        let known = || parts::both(is_large, linked, || symbols::marks(&file, arch));
        let (seen, ((frames, linkage), marks)) =
            parts::both(is_large, || beside(&file, arch, &codes), known);
        let tables = Tables::of(&file, marks, frames);
        let (by, is_go) = (tables.by(), tables.is_go);
        tables.cover(&mut codes);
        let stripped = file.symbols().next().is_none();
        if !is_linked {
            calls(&file, &mut codes);
        }
        let Linkage { stubs, defined, resolvers, pointers } = linkage;
        let elf = Self {
            file,
            arch,
            kind,
            codes,
            by,
            stripped,
            is_go,
            dynamic,
            stubs,
            defined,
            resolvers,
            pointers,
        };
        Ok((elf, seen))
    }

    /// The name of what a call goes to.
    pub fn target(&self, address: u64) -> Option<&'a str> {
        if let Some(name) = self.stubs.get(address) {
            return Some(name);
        }
        let code = self.codes.iter().find(|code| code.holds(address))?;
        let function = code.function(address).filter(|function| function.start == address)?;
        function.name()
    }

    /// The address of what a call goes to, if it is in this image.
    pub fn inside(&self, address: u64) -> Option<u64> {
        match self.stubs.get(address) {
            Some(name) => self.defined.get(name).copied(),
            None => self.codes.iter().any(|code| code.holds(address)).then_some(address),
        }
    }
}

/// Executable sections with contents; of a linked file without section headers, its segments.
fn code_of<'a>(file: &File<'a>, bytes: &'a [u8], is_linked: bool) -> Result<Vec<Code<'a>>, String> {
    let mut codes = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_type, sh_flags } = section.flags() else { continue };
        if sh_flags.0 & EXECUTABLE_SECTION == 0 || sh_type.0 == NOBITS || section.size() == 0 {
            continue;
        }
        let name = section.name().unwrap_or("?");
        let contents = section
            .data()
            .map_err(|_| format!("truncated: section {name} ends outside of the file"))?;
        let unlinked = (!is_linked).then_some(name);
        codes.push(Code {
            section: unlinked,
            index_in_file: Some(section.index().0),
            address: section.address(),
            bytes: contents,
            ..Code::default()
        });
    }
    if file.sections().next().is_none() {
        codes.extend(executable_segments(file, bytes)?);
    }
    let total: u64 = codes.iter().map(|code| code.bytes.len() as u64).sum();
    if total > bytes.len() as u64 {
        return Err("a broken ELF file: its code sections overlap".to_owned());
    }
    if codes.iter().any(|code| code.address.checked_add(code.bytes.len() as u64).is_none()) {
        return Err("a broken ELF file: a code section ends beyond all addresses".to_owned());
    }
    Ok(codes)
}

fn executable_segments<'a>(file: &File<'a>, bytes: &'a [u8]) -> Result<Vec<Code<'a>>, String> {
    let segments = file.elf_program_headers().iter().filter(|segment| {
        segment.p_type(LittleEndian).0 == LOAD
            && segment.p_flags(LittleEndian).0 & EXECUTABLE_SEGMENT != 0
            && segment.p_filesz(LittleEndian) > 0
    });
    segments
        .map(|segment| {
            let contents = segment
                .data(LittleEndian, bytes)
                .map_err(|()| "truncated: a code segment ends outside of the file".to_owned())?;
            let address = segment.p_vaddr(LittleEndian);
            Ok(Code { address, bytes: contents, ..Code::default() })
        })
        .collect()
}

/// What the file says of its code.
struct Tables<'a> {
    /// By the number of their section.
    marks: Vec<Marks<'a>>,
    frames: Vec<(u64, u64)>,
    go: Vec<gopclntab::GoFunction<'a>>,
    /// Whether there is a table of Go's.
    is_go: bool,
}

impl<'a> Tables<'a> {
    fn of(file: &File<'a>, marks: Vec<Marks<'a>>, frames: Vec<(u64, u64)>) -> Self {
        let text = file.section_by_name(".text").map_or(0, |section| section.address());
        let mut sections = file.sections();
        let table =
            sections.find(|section| section.name().is_ok_and(|n| n.ends_with(".gopclntab")));
        let table = table.and_then(|section| section.data().ok());
        let go = table.map(|table| gopclntab::functions(table, text)).unwrap_or_default();
        Self { marks, frames, go, is_go: table.is_some() }
    }

    /// What it is known from that something is code.
    fn by(&self) -> &'static str {
        match () {
            () if self.marks.iter().any(|marks| !marks.mapping.is_empty()) => "mapping symbols",
            () if !self.go.is_empty() => "gopclntab",
            () if !self.frames.is_empty() => "fde",
            () if self.marks.iter().any(|marks| !marks.functions.is_empty()) => "symbols",
            () => "none",
        }
    }

    /// Fills in what is code, what is data and which functions there are.
    fn cover(self, codes: &mut [Code<'a>]) {
        let Self { mut marks, frames, go, .. } = self;
        for code in codes.iter_mut() {
            let end = code.address + code.bytes.len() as u64;
            let inside = |start: u64| start >= code.address && start < end;
            let marks = code.index_in_file.and_then(|index| marks.get_mut(index));
            let marks = marks.map(std::mem::take).unwrap_or_default();
            let mut functions = marks.functions;
            functions.retain(|function| inside(function.start));
            let named = functions.len();
            functions.extend(go.iter().filter(|function| inside(function.start)).map(|function| {
                let gopclntab::GoFunction { start, end, name } = *function;
                let name = name.map(|name| Name::at(name.as_bytes()));
                Function { start, end, name, is_exported: false }
            }));
            if functions.len() > named {
                sort(&mut functions);
            }
            let first = frames.partition_point(|range| range.0 < code.address);
            let after = frames.partition_point(|range| range.0 < end);
            let merged = merged(&functions, &frames[first..after]);
            let most = functions.len() + after - first;
            let mapping: Vec<_> = marks.mapping.into_iter().filter(|mark| inside(mark.0)).collect();
            let covered = || {
                if !mapping.is_empty() {
                    return split(&mapping, code.address, end);
                }
                let ranges = merged.clone().map(|f| (f.start, f.end.min(end)));
                (Ranges::of_sorted(ranges), Ranges::default())
            };
            let is_large = code.bytes.len() >= parts::WORTH_A_THREAD;
            let (known, functions) =
                parts::both(is_large, covered, || arrange(merged.clone(), most));
            (code.covered, code.data) = known;
            code.functions = functions;
        }
    }
}

/// What lies before the first mark is code.
fn split(marks: &[(u64, bool)], start: u64, end: u64) -> (Ranges, Ranges) {
    let (mut code, mut data) = (vec![(start, marks[0].0)], Vec::new());
    for (k, (address, is_code)) in marks.iter().enumerate() {
        let next = marks.get(k + 1).map_or(end, |mark| mark.0);
        if *is_code { code.push((*address, next)) } else { data.push((*address, next)) }
    }
    (Ranges::of(code), Ranges::of(data))
}

/// What unwinding information knows, in the order of addresses.
fn frames<'a>(file: &File<'a>, bytes: &'a [u8]) -> Vec<(u64, u64)> {
    let mut frames = match file.section_by_name(".eh_frame") {
        Some(section) => eh_frame::ranges(section.data().unwrap_or_default(), section.address()),
        None => frames_by_segment(file, bytes).unwrap_or_default(),
    };
    frames.retain(|(start, end)| start < end);
    frames.sort_by_key(|range| range.0);
    frames
}

/// Without section headers: the segment of the search table says where the section is.
fn frames_by_segment<'a>(file: &File<'a>, bytes: &'a [u8]) -> Option<Vec<(u64, u64)>> {
    let mut segments = file.elf_program_headers().iter();
    let table = segments.find(|s| s.p_type(LittleEndian).0 == EH_FRAME_HEADER)?;
    let address = table.p_vaddr(LittleEndian);
    let head = bytes_at(file, bytes, address)?.get(..8)?;
    if head[1] != 0x1B {
        return None; // not the pc-relative 32 bits that linkers write
    }
    let offset = i64::from(i32::from_le_bytes(head[4..8].try_into().ok()?));
    let section = address.wrapping_add(4).wrapping_add_signed(offset);
    Some(eh_frame::ranges(bytes_at(file, bytes, section)?, section))
}

/// The symbols that the calls of an unlinked file refer to.
fn calls<'a>(file: &File<'a>, codes: &mut [Code<'a>]) {
    const CALLS: [u32; 4] = [282, 283, 2, 4]; // JUMP26, CALL26; PC32, PLT32
    for code in codes {
        let index = code.index_in_file.map(SectionIndex);
        let Some(section) = index.and_then(|index| file.section_by_index(index).ok()) else {
            continue;
        };
        for (address, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(index).ok();
            let name = symbol.and_then(|symbol| symbol.name().ok());
            if let (true, Some(name)) = (CALLS.contains(&r_type.0), name) {
                code.calls.push(CallRelocation { address, name });
            }
        }
        code.calls.sort_by_key(|call| call.address);
    }
}
