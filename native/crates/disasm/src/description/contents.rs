//! What every function and every variable of an image is made of, as digests that do not depend on
//! where anything lies: the bytes without the places that a linker fills in, and for each of these
//! what is put there, by name.
//!
//! Two objects of one source compiled twice have equal digests; after a patch those of what it
//! changed differ. Numbers that compilers give to names of their own (`buffer.17`) are left out.

use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationKind, RelocationTarget,
    SectionFlags, SectionIndex, SymbolIndex, SymbolKind,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::shape::shape;
use crate::survey::file::{Arch, File, arch};

const WRITTEN_SECTION: u64 = 1;
const LOADED_SECTION: u64 = 2;
const EXECUTABLE_SECTION: u64 = 4;
const MERGED_SECTION: u64 = 16;
const STRINGS_SECTION: u64 = 32;
const NOBITS: u32 = 8;
const PROGBITS: [u32; 5] = [1, NOBITS, 14, 15, 16]; // with the arrays of constructors
/// How much of a constant without a size is looked at.
const CONSTANT_MAX: usize = 256;
const DIGEST_BYTES: usize = 16;
/// Sections that follow from the code beside them.
const DERIVED: [&str; 5] = [".eh_frame", ".eh_frame_hdr", ".got", ".plt", ".interp"];

/// A function or a variable, or what of a section has no name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    pub name: String,
    /// `function` or `data`.
    pub kind: &'static str,
    pub bytes: u64,
    pub digest: String,
    /// The same of a function's instructions without the numbers in them; empty of data.
    pub shape: String,
}

/// Everything in the image that is loaded, in the order of names.
pub fn contents(file: &File<'_>) -> Vec<Content> {
    let reader = Reader::of(file);
    let mut found: Vec<Content> =
        file.sections().flat_map(|section| reader.section(&section)).collect();
    found.sort_by(|a, b| (&a.name, a.kind, &a.digest).cmp(&(&b.name, b.kind, &b.digest)));
    found
}

/// A name without the number that makes it one of its own.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, number))
            if !stem.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

/// A symbol that has a place.
#[derive(Clone, Copy)]
struct Named<'a> {
    section: usize,
    start: u64,
    end: u64,
    name: &'a str,
    is_code: bool,
}

/// A place that the linker fills in: where it begins and ends in its section, and what is put there.
struct Filled {
    start: u64,
    end: u64,
    said: String,
}

struct Reader<'f, 'a> {
    file: &'f File<'a>,
    arch: Arch,
    is_linked: bool,
    /// By section and address.
    named: Vec<Named<'a>>,
}

impl<'f, 'a> Reader<'f, 'a> {
    fn of(file: &'f File<'a>) -> Self {
        let mut named: Vec<Named<'a>> = file.symbols().filter_map(|it| known(&it)).collect();
        named.sort_by_key(|it| (it.section, it.start, it.end, it.name));
        let is_linked = file.kind() != object::ObjectKind::Relocatable;
        Self { file, arch: arch(file), is_linked, named }
    }

    fn inside(&self, section: usize) -> &[Named<'a>] {
        let first = self.named.partition_point(|it| it.section < section);
        let after = self.named.partition_point(|it| it.section <= section);
        &self.named[first..after]
    }

    fn section(&self, section: &impl ObjectSection<'a>) -> Vec<Content> {
        let SectionFlags::Elf { sh_type, sh_flags } = section.flags() else { return Vec::new() };
        let (flags, name) = (sh_flags.0, section.name().unwrap_or("?"));
        let is_looked_at = flags & LOADED_SECTION != 0
            && PROGBITS.contains(&sh_type.0)
            && (flags & MERGED_SECTION == 0 || flags & WRITTEN_SECTION != 0)
            && section.size() > 0
            && !DERIVED.iter().any(|it| name == *it || name.starts_with(&format!("{it}.")));
        if !is_looked_at {
            return Vec::new();
        }
        let is_empty = sh_type.0 == NOBITS;
        let bytes = if is_empty { &[] } else { section.data().unwrap_or_default() };
        let filled = self.filled(section);
        let base = section.address();
        let end = base.saturating_add(section.size());
        let of = |it: &Named<'a>| {
            self.one(stem(it.name), it.is_code, (it.start, it.end), base, bytes, &filled)
        };
        let mut found: Vec<Content> = self.inside(section.index().0).iter().map(of).collect();
        // What no symbol has is the section's: tables of jumps, constructors.
        if found.is_empty() && !self.is_linked {
            let is_code = flags & EXECUTABLE_SECTION != 0;
            found.push(self.one(stem(name), is_code, (base, end), base, bytes, &filled));
        }
        found
    }

    fn one(
        &self,
        name: &str,
        is_code: bool,
        (start, end): (u64, u64),
        base: u64,
        bytes: &[u8],
        filled: &[Filled],
    ) -> Content {
        let first = filled.partition_point(|it| it.start < start);
        let filled: Vec<&Filled> = filled[first..].iter().take_while(|it| it.start < end).collect();
        // A damaged file may have a symbol before its section.
        let place = |address: u64| {
            let offset = address.checked_sub(base).map(usize::try_from);
            offset.and_then(Result::ok).unwrap_or(usize::MAX)
        };
        let inside = bytes.get(place(start)..place(end).min(bytes.len())).unwrap_or_default();
        let mut own = inside.to_vec();
        let mut said = String::new();
        for it in &filled {
            let from = usize::try_from(it.start - start).unwrap_or(usize::MAX).min(own.len());
            let to = usize::try_from(it.end - start).unwrap_or(usize::MAX).min(own.len());
            own[from..to].fill(0);
            said.push_str(&format!("{}:{}\n", it.start - start, it.said));
        }
        let size = (end - start).to_le_bytes();
        let shape = if is_code {
            digest(&[shape(self.arch, &own).as_bytes(), said.as_bytes()])
        } else {
            String::new()
        };
        Content {
            name: name.to_owned(),
            kind: if is_code { "function" } else { "data" },
            bytes: end - start,
            digest: digest(&[&size, &own, said.as_bytes()]),
            shape,
        }
    }

    /// In the order of places.
    fn filled(&self, section: &impl ObjectSection<'a>) -> Vec<Filled> {
        let mut filled: Vec<Filled> = section
            .relocations()
            .map(|(start, it)| {
                let RelocationFlags::Elf { r_type } = it.flags() else { unreachable!("ELF") };
                let bytes = match (self.arch, it.size()) {
                    (Arch::A64, 64) | (Arch::X64, 64) => 8,
                    _ => 4,
                };
                let addend = it.addend();
                // What counts from the end of the field points so much further.
                let is_relative =
                    matches!(it.kind(), RelocationKind::Relative | RelocationKind::PltRelative)
                        && self.arch == Arch::X64;
                let ahead = if is_relative { 4 } else { 0 };
                let said = match it.target() {
                    RelocationTarget::Symbol(index) => self.target(index, addend, ahead),
                    _ => format!("{addend}"),
                };
                Filled { start, end: start + bytes, said: format!("{}:{said}", r_type.0) }
            })
            .collect();
        filled.sort_by(|a, b| (a.start, &a.said).cmp(&(b.start, &b.said)));
        filled
    }

    /// What a place refers to, without its address.
    fn target(&self, index: SymbolIndex, addend: i64, ahead: i64) -> String {
        let Ok(symbol) = self.file.symbol_by_index(index) else { return "?".to_owned() };
        let name = symbol.name().unwrap_or("?");
        let is_own = symbol.kind() == SymbolKind::Section || name.is_empty();
        if !is_own && !name.starts_with(".L") {
            return format!("{}{addend:+}", stem(name));
        }
        let Some(section) = symbol.section_index() else { return format!("{name}{addend:+}") };
        let start = if is_own {
            symbol.address().wrapping_add_signed(addend + ahead)
        } else {
            symbol.address()
        };
        if let Some(constant) = self.constant(section, start) {
            let further = if is_own { 0 } else { addend };
            return format!("={constant}{further:+}");
        }
        if let Some(it) = self.at(section.0, start) {
            return format!("{}{:+}", stem(it.name), start - it.start);
        }
        let section = self.file.section_by_index(section).ok();
        let base = section.as_ref().map_or(0, ObjectSection::address);
        let named = section.as_ref().and_then(|it| it.name().ok()).unwrap_or("?");
        format!("{}{:+}", stem(named), start.wrapping_sub(base).cast_signed())
    }

    /// The symbol of a linked image that holds an address; in an object each is a section of its own.
    fn at(&self, section: usize, address: u64) -> Option<Named<'a>> {
        let inside = self.inside(section);
        let after = inside.partition_point(|it| it.start <= address);
        inside[..after].iter().rev().take(4).find(|it| address < it.end).copied()
    }

    /// The digest of a constant that the linker may merge with others: it is what it holds.
    fn constant(&self, section: SectionIndex, start: u64) -> Option<String> {
        let section = self.file.section_by_index(section).ok()?;
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
        if sh_flags.0 & MERGED_SECTION == 0 && !(self.is_linked && section.name() == Ok(".rodata"))
        {
            return None;
        }
        let from = usize::try_from(start.checked_sub(section.address())?).ok()?;
        let rest = section.data().ok()?.get(from..)?;
        let rest = &rest[..rest.len().min(CONSTANT_MAX)];
        let is_text = sh_flags.0 & STRINGS_SECTION != 0 || self.is_linked;
        let length = if is_text {
            rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |end| end + 1)
        } else {
            // The name tells how long one is: `.rodata.cst16`.
            let named = section.name().ok()?.rsplit_once(".cst").and_then(|it| it.1.parse().ok());
            rest.len().min(named.unwrap_or(8))
        };
        Some(digest(&[&rest[..length]]))
    }
}

fn known<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<Named<'a>> {
    let name = symbol.name().ok()?;
    let section = symbol.section_index()?.0;
    let is_code = symbol.kind() == SymbolKind::Text;
    let is_one = is_code || matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls);
    let (start, size) = (symbol.address(), symbol.size());
    let end = start.checked_add(size)?;
    (is_one && symbol.is_definition() && size > 0 && !name.is_empty()).then_some(Named {
        section,
        start,
        end,
        name,
        is_code,
    })
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    crate::image::hex(&hash.finalize()[..DIGEST_BYTES])
}
