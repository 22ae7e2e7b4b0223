//! The survey of a whole file: what its code holds, where, and how much of that is certain.
//!
//! An ELF image, or every member of a static library, is mapped, not read; its sections are passed
//! over once for events (the one word in a hundred that matters, of x86-64 every instruction), and
//! matchers look at events and the words around them. False positives are kept away by what the file
//! itself says is code: mapping symbols, symbol sizes, unwinding information, Go's function table.
//! Where nothing says so, classes with few fixed bits go to `unverified`.
//!
//! Not here: what a finding means, and which are worth reporting. Python decides that.

pub(crate) mod a64;
mod addresses;
mod bytes;
mod code;
pub(crate) mod dynamic;
pub(crate) mod eh_frame;
mod elf;
mod facts;
pub(crate) mod file;
mod gopclntab;
pub(crate) mod input;
mod parts;
mod ranges;
mod relocations;
pub mod report;
mod stubs;
mod symbols;
mod tables;
mod x64;

use std::path::Path;

use object::Object;

use elf::Elf;
use file::Arch;
use report::{Coverage, Facts, Findings, Found, Image, Refused};

/// Surveys a file, and gives what is found in it to `each`, image by image. Nothing is an error:
/// what cannot be read or understood is refused with the reason.
pub fn survey<E>(
    path: &Path,
    with_sites: bool,
    each: &mut dyn FnMut(Found) -> Result<(), E>,
) -> Result<(), E> {
    let shown = path.display().to_string();
    match input::read(path) {
        Ok(bytes) => survey_bytes(&shown, &bytes, with_sites, each),
        Err(why) => each(Found::Refused(Refused { path: shown, member: None, why })),
    }
}

/// As `survey`, of bytes in memory; `path` is what the answers call them.
pub fn survey_bytes<E>(
    path: &str,
    bytes: &[u8],
    with_sites: bool,
    each: &mut dyn FnMut(Found) -> Result<(), E>,
) -> Result<(), E> {
    let mut result = Ok(());
    input::images(bytes, &mut |member, image| {
        if result.is_err() {
            return;
        }
        let path = path.to_owned();
        let found = match image.and_then(|image| one(image, with_sites)) {
            Ok(image) => Found::Image(Box::new(Image { path, member, ..image })),
            Err(why) => Found::Refused(Refused { path, member, why }),
        };
        result = each(found);
    });
    result
}

fn one(bytes: &[u8], with_sites: bool) -> Result<Image, String> {
    // Which words matter, and what stands in data, does not depend on what the tables say.
    let is_large = bytes.len() >= parts::WORTH_A_THREAD;
    let beside = |file: &file::File<'_>, arch, codes: &[code::Code<'_>]| {
        let events = || match arch {
            Arch::A64 => codes.iter().map(a64::scan).collect(),
            Arch::X64 => Vec::new(),
        };
        let in_data = || (facts::jemalloc_message(file), tables::held(file));
        parts::both(is_large, in_data, events)
    };
    let (elf, ((message, tables), events)) = Elf::read(bytes, beside)?;
    let (arch, mut findings) = match elf.arch {
        Arch::A64 => ("aarch64", a64::survey(&elf, events, with_sites)),
        Arch::X64 => ("x86_64", x64::survey(&elf, with_sites)),
    };
    let build_id = elf.file.build_id().ok().flatten();
    let facts = Facts { checksum_tables: tables, ..facts::facts(&elf, message, &mut findings) };
    let Findings { counts, unverified, helpers, sites, exports, .. } = findings;
    let mut sites = sites.listed;
    sites.sort_by(|a, b| {
        (a.kind.name(), &a.section, a.address).cmp(&(b.kind.name(), &b.section, b.address))
    });
    Ok(Image {
        path: String::new(),
        member: None,
        arch,
        kind: elf.kind,
        build_id: build_id.map(crate::image::hex),
        stripped: elf.stripped,
        language: facts::language(&elf),
        counts,
        unverified,
        helpers,
        coverage: coverage(&elf),
        sites,
        facts,
        exports_hints: exports,
    })
}

fn coverage(elf: &Elf<'_>) -> Coverage {
    let (mut text_bytes, mut covered) = (0u64, 0u64);
    for code in &elf.codes {
        let length = code.bytes.len() as u64;
        text_bytes += length;
        covered += code.covered.within(code.address, code.address + length);
    }
    let share = if text_bytes == 0 { 0.0 } else { covered as f64 / text_bytes as f64 };
    Coverage { text_bytes, covered: share, by: elf.by }
}
