//! The dynamic table: needed libraries, and what kind of file it is. Read by address, so that it
//! works without section headers.

use object::read::elf::ProgramHeader;
use object::{LittleEndian, Object, ObjectKind};

use super::bytes::Cursor;
use super::file::{File, INTERPRETER, bytes_at};

const DYNAMIC: u32 = 2;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const SONAME: u64 = 14;
const FLAGS_1: u64 = 0x6FFF_FFFB;
const FLAG_PIE: u64 = 0x0800_0000;

/// What is of interest in it.
#[derive(Debug, Default)]
pub struct Dynamic<'a> {
    /// Names of needed libraries.
    pub needed: Vec<&'a str>,
    /// Whether the linker marked a position-independent executable.
    pub is_pie: bool,
    /// Its name as a library; empty if it has one that cannot be read.
    pub soname: Option<&'a str>,
}

impl<'a> Dynamic<'a> {
    /// Reads it; what is missing or broken is as if it were not there.
    pub fn read(file: &File<'a>, bytes: &'a [u8]) -> Self {
        Self::try_read(file, bytes).unwrap_or_default()
    }

    /// Whether its file is an executable, a shared library or a relocatable file.
    pub fn kind(&self, file: &File<'_>) -> &'static str {
        let mut segments = file.elf_program_headers().iter();
        let starts = segments.any(|segment| segment.p_type(LittleEndian).0 == INTERPRETER);
        match file.kind() {
            ObjectKind::Relocatable => "relocatable",
            // A library may name an interpreter too, as libc does; but it has a name of its own.
            ObjectKind::Dynamic if self.is_pie || (starts && self.soname.is_none()) => "executable",
            ObjectKind::Dynamic => "shared",
            _ => "executable",
        }
    }

    fn try_read(file: &File<'a>, bytes: &'a [u8]) -> Option<Self> {
        let mut segments = file.elf_program_headers().iter();
        let segment = segments.find(|s| s.p_type(LittleEndian).0 == DYNAMIC)?;
        let table = segment.data(LittleEndian, bytes).ok()?;
        let mut cursor = Cursor::new(table, 0);
        let mut names = Vec::new();
        let (mut strings, mut soname, mut found) = (None, None, Self::default());
        while let (Some(tag), Some(value)) = (cursor.u64(), cursor.u64()) {
            match tag {
                0 => break,
                NEEDED => names.push(value),
                STRINGS => strings = bytes_at(file, bytes, value),
                SONAME => soname = Some(value),
                FLAGS_1 => found.is_pie = value & FLAG_PIE != 0,
                _ => {}
            }
        }
        if let Some(strings) = strings {
            let name = |offset: &u64| {
                let at = usize::try_from(*offset).ok()?;
                std::str::from_utf8(Cursor::new(strings, at).c_string()?).ok()
            };
            found.needed = names.iter().filter_map(name).collect();
            found.soname = soname.as_ref().and_then(name);
        }
        if soname.is_some() && found.soname.is_none() {
            found.soname = Some("");
        }
        Some(found)
    }
}
