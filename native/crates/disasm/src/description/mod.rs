//! What an ELF file says of itself: its kind, build id and libraries, functions and symbols with their
//! places in the file, and where a function refers to a variable.
//!
//! The file is read into memory, not mapped: one that another process cuts meanwhile is a broken
//! file, and no signal. Whatever the bytes are, the answer takes no more memory than a few times
//! theirs. Not here: what the code does (`survey`), and files of 32 bits or of other processors.

pub mod contents;
mod references;
mod shape;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use object::elf::FileHeader64;
use object::read::elf::{ElfSymbol, ProgramHeader, Sym};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionIndex};
use serde::Serialize;

use self::contents::Content;
use crate::survey::dynamic::Dynamic;
use crate::survey::file::{self, Arch, File};
use crate::survey::input;
use crate::survey::report::Refused;

/// Definitions of one name that are given; a program has one, or a few that are local.
const SAME_NAME_MAX: usize = 100;
/// Texts of compilers that are given, and the longest of them.
const COMPILERS_MAX: usize = 100;
const COMPILER_BYTES_MAX: usize = 200;
/// Names of symbols are so many times as long as the file at most, all together.
const NAMES_MAX: usize = 4;

const LOAD: u32 = 1;
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;
const INDIRECT_FUNCTION: u8 = 10;

/// What is asked of each file beside what it is.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Names as in the symbol table.
    pub symbols: Vec<String>,
    /// Which functions are listed by name.
    pub functions: Option<Listed>,
    /// A function, and the variable that it refers to.
    pub references: Vec<(String, String)>,
    /// Whether the digests of all that it holds are given.
    pub contents: bool,
}

/// Which functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// All that have a name.
    All,
    /// Those that other files may call.
    Exported,
}

/// What there is at a path.
#[derive(Debug)]
pub enum Described {
    /// An ELF file, or a member of a static library.
    Object(Box<Description>),
    /// Something that is not understood.
    Refused(Refused),
}

/// One ELF file. Fields are written as they are; `assayer`'s protocol has their meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Description {
    pub path: String,
    pub member: Option<String>,
    pub arch: &'static str,
    pub kind: &'static str,
    pub build_id: Option<String>,
    pub interpreter: Option<String>,
    pub soname: Option<String>,
    pub needed: Vec<String>,
    pub stripped: bool,
    pub compilers: Vec<String>,
    pub symbols: Vec<Symbol>,
    pub functions: Option<Vec<String>>,
    pub references: Vec<Reference>,
    pub contents: Option<Vec<Content>>,
    pub missing: Vec<String>,
}

/// A definition of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symbol {
    pub name: String,
    pub kind: &'static str,
    pub address: u64,
    pub bytes: u64,
    /// Where it is in the file; none if it is not in the file, such as a variable that begins as 0.
    pub offset: Option<u64>,
    pub exported: bool,
}

/// An instruction that reads, writes or takes the address of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    pub function: String,
    pub symbol: String,
    pub address: u64,
    pub offset: Option<u64>,
}

/// Describes a file, image by image. Nothing is an error: what cannot be read or understood is
/// refused with the reason.
pub fn describe<E>(
    path: &Path,
    asked: &Asked,
    each: &mut dyn FnMut(Described) -> Result<(), E>,
) -> Result<(), E> {
    let shown = path.display().to_string();
    match input::read(path) {
        Ok(bytes) => describe_bytes(&shown, &bytes, asked, each),
        Err(why) => each(Described::Refused(Refused { path: shown, member: None, why })),
    }
}

/// As `describe`, of bytes in memory; `path` is what the answers call them.
pub fn describe_bytes<E>(
    path: &str,
    bytes: &[u8],
    asked: &Asked,
    each: &mut dyn FnMut(Described) -> Result<(), E>,
) -> Result<(), E> {
    let mut result = Ok(());
    input::images(bytes, &mut |member, image| {
        if result.is_err() {
            return;
        }
        let path = path.to_owned();
        let described = match image.and_then(|image| one(image, asked)) {
            Ok(found) => Described::Object(Box::new(Description { path, member, ..found })),
            Err(why) => Described::Refused(Refused { path, member, why }),
        };
        result = each(described);
    });
    result
}

fn one(bytes: &[u8], asked: &Asked) -> Result<Description, String> {
    let file = file::parse(bytes)?;
    let dynamic = Dynamic::read(&file, bytes);
    let symbols = Symbols::read(&file, bytes, asked)?;
    let owned = |text: &str| text.to_owned();
    let wanted = asked.symbols.iter();
    let missing = wanted.clone().filter(|name| symbols.named(name).is_empty());
    let references = asked.references.iter();
    Ok(Description {
        arch: match file::arch(&file) {
            Arch::A64 => "aarch64",
            Arch::X64 => "x86_64",
        },
        kind: dynamic.kind(&file),
        build_id: file.build_id().ok().flatten().map(crate::image::hex),
        interpreter: file::interpreter(&file, bytes).map(owned),
        soname: dynamic.soname.filter(|name| !name.is_empty()).map(owned),
        needed: dynamic.needed.iter().copied().map(owned).collect(),
        stripped: file.symbols().next().is_none(),
        compilers: compilers(&file),
        missing: missing.cloned().collect(),
        symbols: wanted.flat_map(|name| symbols.named(name)).cloned().collect(),
        references: references.flat_map(|(from, to)| references::of(&symbols, from, to)).collect(),
        functions: asked.functions.is_some().then(|| symbols.functions()),
        contents: asked.contents.then(|| contents::contents(&file)),
        ..Description::default()
    })
}

/// The texts that compilers have left.
fn compilers(file: &File<'_>) -> Vec<String> {
    let section = file.section_by_name(".comment").and_then(|section| section.data().ok());
    let texts =
        section.unwrap_or_default().split(|byte| *byte == 0).filter(|text| !text.is_empty());
    let shown = |text: &[u8]| {
        String::from_utf8_lossy(&text[..text.len().min(COMPILER_BYTES_MAX)]).into_owned()
    };
    let different: BTreeSet<String> = texts.take(COMPILERS_MAX).map(shown).collect();
    different.into_iter().collect()
}

/// The symbols of a file, as far as they were asked for.
struct Symbols<'f, 'a> {
    file: &'f File<'a>,
    bytes: &'a [u8],
    by_name: HashMap<&'a str, Vec<Symbol>>,
    functions: BTreeSet<&'a str>,
}

impl<'f, 'a> Symbols<'f, 'a> {
    /// Passes over the tables of symbols once.
    fn read(file: &'f File<'a>, bytes: &'a [u8], asked: &Asked) -> Result<Self, String> {
        let names = asked.references.iter().flat_map(|(function, symbol)| [function, symbol]);
        let wanted: HashSet<&str> = names.chain(&asked.symbols).map(String::as_str).collect();
        let (by_name, functions) = (HashMap::new(), BTreeSet::new());
        let mut symbols = Self { file, bytes, by_name, functions };
        if wanted.is_empty() && asked.functions.is_none() {
            return Ok(symbols);
        }
        let own = file.symbols().map(|symbol| (symbol, false));
        let exported = file.dynamic_symbols().map(|symbol| (symbol, true));
        let mut name_bytes = 0;
        for (symbol, is_exported) in own.chain(exported) {
            let Ok(name) = symbol.name_bytes() else { continue };
            // Names may share their ends, but not in any number.
            name_bytes += name.len();
            if name_bytes > NAMES_MAX * bytes.len() {
                return Err("a broken ELF file: its names overlap".to_owned());
            }
            let is_here = symbol.elf_symbol().st_shndx(LittleEndian).0 != 0;
            let Ok(name) = str::from_utf8(name) else { continue };
            if !is_here || name.is_empty() {
                continue;
            }
            if wanted.contains(name) {
                symbols.add(name, &symbol, is_exported);
            }
            let is_function =
                matches!(symbol.elf_symbol().st_type().0, FUNCTION | INDIRECT_FUNCTION);
            if is_function && (is_exported || asked.functions == Some(Listed::All)) {
                symbols.functions.insert(name);
            }
        }
        Ok(symbols)
    }

    /// Adds a definition, each place once; exported if it is in the dynamic table too.
    fn add(
        &mut self,
        name: &'a str,
        symbol: &ElfSymbol<'a, '_, FileHeader64<LittleEndian>>,
        exported: bool,
    ) {
        let entry = symbol.elf_symbol();
        let (address, bytes) = (entry.st_value(LittleEndian), entry.st_size(LittleEndian));
        let kind = kind_name(entry.st_type().0);
        let offset = self.offset(symbol.section_index(), address);
        let known = self.by_name.entry(name).or_default();
        let is_same = |it: &&mut Symbol| (it.address, it.bytes, it.kind) == (address, bytes, kind);
        if let Some(same) = known.iter_mut().find(is_same) {
            same.exported |= exported;
        } else if known.len() < SAME_NAME_MAX {
            known.push(Symbol { name: name.to_owned(), kind, address, bytes, offset, exported });
        }
    }

    /// The definitions of a name that was asked for.
    fn named(&self, name: &str) -> &[Symbol] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of functions, each once, in order.
    fn functions(&self) -> Vec<String> {
        self.functions.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Where something is in the file; in a relocatable one addresses are those within a section.
    fn offset(&self, section: Option<SectionIndex>, address: u64) -> Option<u64> {
        if self.file.elf_program_headers().is_empty() {
            let section = self.file.section_by_index(section?).ok()?;
            let (start, bytes) = section.file_range()?;
            return (address < bytes).then(|| start.checked_add(address)).flatten();
        }
        self.file.elf_program_headers().iter().find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr(LittleEndian))?;
            let is_held =
                segment.p_type(LittleEndian).0 == LOAD && inside < segment.p_filesz(LittleEndian);
            is_held.then(|| segment.p_offset(LittleEndian).checked_add(inside)).flatten()
        })
    }

    /// The bytes of a function, as far as they are in the file.
    fn code(&self, function: &Symbol) -> Option<&'a [u8]> {
        let start = usize::try_from(function.offset?).ok()?;
        let end = start.checked_add(usize::try_from(function.bytes).ok()?)?;
        self.bytes.get(start..end)
    }
}

fn kind_name(kind: u8) -> &'static str {
    match kind {
        OBJECT => "variable",
        FUNCTION => "function",
        INDIRECT_FUNCTION => "indirect-function",
        _ => "other",
    }
}
