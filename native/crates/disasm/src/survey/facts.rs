//! What holds of a whole image, whatever its instructions: language, alignment, marks, strings.

use std::collections::BTreeMap;

use object::{Object, ObjectSection, SectionKind};

use super::a64;
use super::bytes::Cursor;
use super::elf::Elf;
use super::file::{Arch, File, load_align};
use super::report::{Facts, Findings};

const PAGE_SIZE: &[u8] = b"Unsupported system page size";

/// The facts of an image.
/// `message` is where jemalloc's is.
pub fn facts(elf: &Elf<'_>, message: Option<u64>, findings: &mut Findings) -> Facts {
    let shift = match (message, elf.arch) {
        (Some(address), Arch::A64) => a64::page_shift(elf, address),
        _ => None,
    };
    let (bti, pac) = marks(elf);
    Facts {
        atomics: findings.atomics,
        min_load_align: load_align(&elf.file),
        constructor: findings.constructor,
        page_size_string: message.is_some(),
        jemalloc_lg_page: shift,
        bti,
        pac,
        section_align: section_align(elf),
        needed: elf.dynamic.needed.iter().map(|name| (*name).to_owned()).collect(),
        more: std::mem::take(&mut findings.more),
        cut: findings.sites.cut(),
        checksum_tables: Vec::new(),
    }
}

/// Of writable sections: how they are aligned. Lock tables and counters live there.
fn section_align(elf: &Elf<'_>) -> BTreeMap<String, u64> {
    let named = [".data", ".bss", ".tdata", ".tbss", ".data.rel.ro"];
    let sections = elf.file.sections();
    let sections = sections.filter_map(|section| {
        let name = section.name().ok()?;
        named.contains(&name).then(|| (name.to_owned(), section.align()))
    });
    sections.collect()
}

/// Whether the linker marked the image as all BTI, all PAC.
fn marks(elf: &Elf<'_>) -> (bool, bool) {
    const AARCH64_FEATURES: u32 = 0xC000_0000;
    let features = || {
        let section = elf.file.section_by_name(".note.gnu.property")?;
        let mut cursor = Cursor::new(section.data().ok()?, 0);
        cursor.take(16)?; // one note: three lengths and "GNU"
        loop {
            let (kind, length) = (cursor.u32()?, cursor.u32()?);
            let value = cursor.take((length as usize).next_multiple_of(8))?;
            if kind == AARCH64_FEATURES {
                return value.first().copied();
            }
        }
    };
    let features = if elf.arch == Arch::A64 { features().unwrap_or(0) } else { 0 };
    (features & 1 != 0, features & 2 != 0)
}

/// The address of jemalloc's message about page sizes.
pub fn jemalloc_message(file: &File<'_>) -> Option<u64> {
    constants(file).find_map(|(address, bytes)| {
        let at = memchr::memmem::find(bytes, PAGE_SIZE)?;
        let start = memchr::memrchr(0, &bytes[..at]).map_or(0, |zero| zero + 1);
        Some(address + start as u64)
    })
}

fn constants<'a>(file: &'a File<'_>) -> impl Iterator<Item = (u64, &'a [u8])> {
    let sections = file.sections();
    sections.filter_map(|section| {
        let is_constant =
            matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString);
        let bytes = if is_constant { section.data().ok()? } else { return None };
        Some((section.address(), bytes))
    })
}

/// The language it was mostly written in, as far as its compiler left a trace.
pub fn language(elf: &Elf<'_>) -> Option<&'static str> {
    if elf.is_go || elf.file.section_by_name(".note.go.buildid").is_some() {
        return Some("go");
    }
    let comment = elf.file.section_by_name(".comment").and_then(|section| section.data().ok());
    let says = |text: &[u8]| comment.is_some_and(|c| memchr::memmem::find(c, text).is_some());
    if says(b"rustc") {
        return Some("rust");
    }
    // Panics of the standard library name its sources; C++ may hold a little Rust.
    let is_cpp = elf.dynamic.needed.iter().any(|name| name.starts_with("libstdc++"));
    let paths = |bytes: &[u8]| memchr::memmem::find_iter(bytes, b"/rustc").take(8).count();
    if !is_cpp && constants(&elf.file).map(|(_, bytes)| paths(bytes)).sum::<usize>() >= 8 {
        return Some("rust");
    }
    let is_c = says(b"GCC") || says(b"clang");
    (is_c || elf.dynamic.needed.iter().any(|name| name.starts_with("libc.so"))).then_some("c")
}
