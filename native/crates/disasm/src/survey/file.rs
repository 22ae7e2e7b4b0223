//! The headers of an ELF file: what it is for, and where its bytes are loaded.

use object::elf::FileHeader64;
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectKind};

use super::bytes::Cursor;

/// The file as `object` reads it.
pub type File<'a> = ElfFile<'a, FileHeader64<LittleEndian>>;

/// A segment that is loaded.
pub const LOAD: u32 = 1;
/// A segment that names the program's loader.
pub const INTERPRETER: u32 = 3;

/// The two instruction sets that are surveyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    A64,
    X64,
}

/// The headers, or why they cannot be read.
pub fn parse(bytes: &[u8]) -> Result<File<'_>, String> {
    let file = File::parse(bytes).map_err(|error| format!("a broken ELF file: {error}"))?;
    match file.kind() {
        ObjectKind::Core => Err("a core dump, not a program".to_owned()),
        _ => Ok(file),
    }
}

/// The instruction set; `input` lets no file of another one through.
pub fn arch(file: &File<'_>) -> Arch {
    if file.elf_header().e_machine(LittleEndian).0 == 62 { Arch::X64 } else { Arch::A64 }
}

/// The program that loads it.
pub fn interpreter<'a>(file: &File<'a>, bytes: &'a [u8]) -> Option<&'a str> {
    let mut segments = file.elf_program_headers().iter();
    let segment = segments.find(|it| it.p_type(LittleEndian).0 == INTERPRETER)?;
    let text = segment.data(LittleEndian, bytes).ok()?;
    std::str::from_utf8(Cursor::new(text, 0).c_string()?).ok()
}

/// The bytes from an address to the end of its segment.
pub fn bytes_at<'a>(file: &File<'a>, bytes: &'a [u8], address: u64) -> Option<&'a [u8]> {
    file.elf_program_headers().iter().find_map(|segment| {
        if segment.p_type(LittleEndian).0 != LOAD {
            return None;
        }
        let inside = address.checked_sub(segment.p_vaddr(LittleEndian))?;
        let length = segment.p_filesz(LittleEndian);
        if inside >= length {
            return None;
        }
        let offset = segment.p_offset(LittleEndian);
        let start = usize::try_from(offset.checked_add(inside)?).ok()?;
        let end = usize::try_from(offset.checked_add(length)?).ok()?;
        bytes.get(start..end.min(bytes.len()))
    })
}

/// The smallest alignment of a loaded segment.
pub fn load_align(file: &File<'_>) -> Option<u64> {
    let loads = file.elf_program_headers().iter();
    let loads = loads.filter(|segment| segment.p_type(LittleEndian).0 == LOAD);
    loads.map(|segment| segment.p_align(LittleEndian)).min()
}
