//! An ELF file: its architecture, build id, functions and their bytes.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{
    Architecture, Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind,
};

use crate::DisasmError;
use crate::survey::eh_frame;

/// The two instruction sets that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// x86-64.
    X86_64,
    /// aarch64.
    A64,
}

impl InstructionSet {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            InstructionSet::X86_64 => "x86_64",
            InstructionSet::A64 => "aarch64",
        }
    }
}

/// A function symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// The name in the symbol table.
    pub raw: String,
    /// The name as a person writes it, without a hash.
    pub demangled: String,
    /// Link-time address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// An executable file in memory.
pub struct Image {
    path: PathBuf,
    data: Vec<u8>,
}

impl Image {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, DisasmError> {
        let data = std::fs::read(path)
            .map_err(|source| DisasmError::Read { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), data })
    }

    /// Understands it.
    pub fn parse(&self) -> Result<Parsed<'_>, DisasmError> {
        let fail = |source| DisasmError::Parse { path: self.path.clone(), source };
        let file = ElfFile64::parse(self.data.as_slice()).map_err(fail)?;
        let set = match file.architecture() {
            Architecture::X86_64 => InstructionSet::X86_64,
            Architecture::Aarch64 => InstructionSet::A64,
            other => {
                let architecture = format!("{other:?}");
                return Err(DisasmError::Architecture { path: self.path.clone(), architecture });
            }
        };
        let build_id = file.build_id().map_err(fail)?.map(hex);
        Ok(Parsed { file, set, build_id })
    }
}

/// An executable file, understood.
pub struct Parsed<'a> {
    file: ElfFile64<'a>,
    /// Its instruction set.
    pub set: InstructionSet,
    /// Its GNU build id, if the linker wrote one.
    pub build_id: Option<String>,
}

impl Parsed<'_> {
    /// Every function that has a symbol with a size, in the order of addresses.
    pub fn functions(&self) -> Vec<FunctionSymbol> {
        let symbols = self.file.symbols().chain(self.file.dynamic_symbols());
        let mut functions: Vec<FunctionSymbol> = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter(|symbol| symbol.size() > 0)
            .filter_map(|symbol| {
                let raw = symbol.name().ok()?.to_owned();
                let demangled = format!("{:#}", rustc_demangle::demangle(&raw));
                Some(FunctionSymbol {
                    demangled,
                    raw,
                    address: symbol.address(),
                    bytes: symbol.size(),
                })
            })
            .collect();
        functions.sort_by(|a, b| (a.address, &a.raw).cmp(&(b.address, &b.raw)));
        functions.dedup();
        functions
    }

    /// The functions that unwinding information knows, without names, in the order of addresses:
    /// of a stripped file nearly all of them.
    pub fn frames(&self) -> Vec<FunctionSymbol> {
        let Some(section) = self.file.section_by_name(".eh_frame") else { return Vec::new() };
        let mut ranges = eh_frame::ranges(section.data().unwrap_or_default(), section.address());
        ranges.retain(|(start, end)| start < end);
        ranges.sort_unstable();
        let unnamed = |(start, end): (u64, u64)| FunctionSymbol {
            raw: String::new(),
            demangled: String::new(),
            address: start,
            bytes: end - start,
        };
        ranges.into_iter().map(unnamed).collect()
    }

    /// The code of a function; `None` if its section is not in the file.
    pub fn code(&self, function: &FunctionSymbol) -> Option<&[u8]> {
        self.file
            .sections()
            .find_map(|section| section.data_range(function.address, function.bytes).ok().flatten())
    }
}

/// The GNU build id of a file, if the linker wrote one. Only headers and notes are read: a binary
/// with its line tables has a hundred megabytes.
///
/// # Errors
/// `Read` when the file cannot be opened, `Parse` when it is no ELF file of 64 bits.
pub fn build_id(path: &Path) -> Result<Option<String>, DisasmError> {
    let file =
        File::open(path).map_err(|source| DisasmError::Read { path: path.to_owned(), source })?;
    find_build_id(&ReadCache::new(file))
        .map_err(|source| DisasmError::Parse { path: path.to_owned(), source })
}

fn find_build_id(data: &ReadCache<File>) -> Result<Option<String>, object::Error> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    for segment in header.program_headers(endian, data)? {
        let Some(mut notes) = segment.notes(endian, data)? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
                return Ok(Some(hex(note.desc())));
            }
        }
    }
    Ok(None)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
