//! Whatever the bytes are, a survey ends with images or reasons: it never panics.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use assay_disasm::survey::report::Found;
use assay_disasm::survey::survey;
use proptest::prelude::*;

use crate::support::words::*;
use crate::support::*;

fn of_path(path: &Path) -> Vec<Found> {
    let mut all = Vec::new();
    let Ok(()) = survey::<std::convert::Infallible>(path, true, &mut |found| {
        all.push(found);
        Ok(())
    });
    all
}

fn refused(path: &Path) -> String {
    match of_path(path).pop() {
        Some(Found::Refused(refused)) => refused.why,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_being_opened() {
    let folder = std::env::temp_dir().join(format!("assay-odd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let fifo = folder.join("fifo");
    let name = CString::new(fifo.as_os_str().as_bytes()).unwrap();
    // SAFETY: `name` is a string that ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    std::fs::write(folder.join("empty"), b"").unwrap();
    let sparse = folder.join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(4 << 30).unwrap();
    for (path, why) in [
        (folder.clone(), "directory"),
        (fifo, "FIFO"),
        (folder.join("empty"), "empty"),
        (sparse, "sparse"),
        (folder.join("absent"), "cannot be read"),
        ("/dev/null".into(), "device"),
    ] {
        let said = refused(&path);
        assert!(said.contains(why), "{said} for {}", path.display());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes_or_refused() {
    let bytes = library(READER_LOCK);
    for length in 0..bytes.len() {
        found(&bytes[..length]);
    }
    assert!(refusal(&bytes[..bytes.len() - 1]).contains("broken ELF file"));
}

#[test]
fn a_section_that_ends_outside_of_the_file_is_named() {
    let mut bytes = library(READER_LOCK);
    let table = bytes.len() - 3 * 64;
    bytes[table + 32..table + 40].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert_eq!(refusal(&bytes), "truncated: section .text ends outside of the file");
}

#[test]
fn sections_that_overlap_do_not_multiply_the_work() {
    let mut bytes = library(READER_LOCK);
    let whole = bytes.len() as u64;
    let table = bytes.len() - 3 * 64;
    for section in 0..2 {
        let at = table + section * 64;
        bytes[at + 8..at + 16].copy_from_slice(&6u64.to_le_bytes());
        bytes[at + 24..at + 32].copy_from_slice(&0u64.to_le_bytes());
        bytes[at + 32..at + 40].copy_from_slice(&whole.to_le_bytes());
    }
    assert!(refusal(&bytes).contains("overlap"));
}

#[test]
fn a_program_without_code_is_refused() {
    let bytes = library(&[]);
    assert!(refusal(&bytes).contains("no code"));
}

/// What is mutated: small files, and this very test, which is a whole program.
fn originals() -> Vec<Vec<u8>> {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let mut archive = b"!<arch>\n".to_vec();
    for (name, words) in [("one.o/", GUARDED), ("two.o/", LLSC_LOCK)] {
        let member = library(words);
        let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, member.len());
        archive.extend(head.as_bytes());
        archive.extend(&member);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    vec![library(READER_LOCK), library_of(&[0xF3, 0x90, 0x75, 0xFC, 0xC3], 62), archive, program]
}

#[test]
fn the_members_of_a_static_library_are_images_by_name() {
    let members: Vec<_> = found(&originals()[2])
        .into_iter()
        .map(|found| match found {
            Found::Image(image) => image.member.unwrap(),
            Found::Refused(refused) => panic!("{refused:?}"),
        })
        .collect();
    assert_eq!(members, ["one.o", "two.o"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Bytes of headers, tables and code changed at random, and the file cut: never a panic.
    #[test]
    fn changed_bytes_never_panic(
        which in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let mut bytes = originals_once()[which].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        found(&bytes);
    }

    /// Numbers in headers and section tables replaced by ones at the limits.
    #[test]
    fn extreme_numbers_never_panic(
        which in 0usize..3,
        place in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![0, 1, 8, u64::MAX, i64::MAX as u64, 1 << 32, 0xFFFF_FFFF]),
        width in prop::sample::select(vec![2usize, 4, 8]),
    ) {
        let mut bytes = originals_once()[which].clone();
        let place = place.index(bytes.len() - 8) & !1;
        bytes[place..place + width].copy_from_slice(&value.to_le_bytes()[..width]);
        found(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    /// The same of a whole program, in its first page and its section table.
    #[test]
    fn a_changed_program_never_panics(
        changes in prop::collection::vec((0usize..4096, any::<u8>(), any::<bool>()), 1..8),
    ) {
        let mut bytes = originals_once()[3].clone();
        let length = bytes.len();
        for (place, value, from_end) in changes {
            bytes[if from_end { length - 1 - place } else { place }] = value;
        }
        found(&bytes);
    }
}

fn originals_once() -> &'static [Vec<u8>] {
    static ORIGINALS: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    ORIGINALS.get_or_init(originals)
}

/// Small images that the fuzz target `census` begins with, by name.
fn small() -> Vec<(&'static str, Vec<u8>)> {
    let x86 = [0xF3, 0x90, 0xF0, 0x0F, 0xB1, 0x0F, 0x75, 0xF8, 0x87, 0x07, 0x0F, 0x31, 0xC3];
    vec![
        ("reader-lock", library(READER_LOCK)),
        ("llsc-lock", library(LLSC_LOCK)),
        ("guarded", library(GUARDED)),
        ("delay", library(DELAY_NEAR)),
        ("barrier", library(BARRIER)),
        ("timer", library(TIMER)),
        ("crc", library(CRC)),
        ("x86", library_of(&x86, 62)),
        ("archive", originals_once()[2].clone()),
        ("symbols", with_symbols(62, &[0x8B, 5, 0, 0, 1, 0, 0xC3])),
        ("symbols-aarch64", with_symbols(183, &[0, 0, 0, 0x90, 1, 0, 0x40, 0xB9])),
    ]
}

/// A file with names in both tables, a function that may refer to a variable, and a dynamic table.
fn with_symbols(machine: u16, text: &[u8]) -> Vec<u8> {
    use crate::support::elf::{BSS, Elf, FUNCTION, OBJECT, START, symbol};
    let length = text.len() as u64;
    Elf {
        machine,
        text,
        interpreter: Some("/lib/ld.so"),
        needed: &["libc.so.6"],
        soname: Some("lib.so"),
        comment: b"GCC\0",
        symbols: &[symbol("f", FUNCTION, START, length), symbol("counter", OBJECT, BSS, 4)],
        exported: &[symbol("main", FUNCTION, START, length)],
        ..Elf::default()
    }
    .bytes()
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/census")
}

#[test]
#[ignore = "writes the corpus of the fuzz target"]
fn the_corpus_is_made_anew() {
    for (name, bytes) in small() {
        std::fs::write(corpus().join(name), bytes).unwrap();
    }
}

/// Of every file of the corpus, also those that broke it once; and none that is made here is missing.
#[test]
fn the_check_of_the_fuzz_target_holds_of_its_corpus() {
    for file in std::fs::read_dir(corpus()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(bytes.len() <= 4096, "{} bytes: more than libFuzzer takes", bytes.len());
        crate::census::check(&bytes);
    }
    for (name, bytes) in small() {
        assert!(std::fs::read(corpus().join(name)).unwrap() == bytes, "{name} is out of date");
        assert!(found(&bytes).iter().all(|found| matches!(found, Found::Image(_))), "{name}");
    }
}

/// A sequence of numbers from a seed (xorshift64*; Vigna, 2016).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % below.max(1)
    }
}

/// One change: a bit, a byte, a number at a limit, a piece moved, a piece of another file, or a cut.
fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], numbers: &mut Numbers) {
    const LIMITS: [u64; 9] =
        [0, 1, 4, 24, 64, u64::MAX, i64::MAX as u64, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_0000];
    if bytes.len() < 16 {
        return;
    }
    let place = numbers.next(bytes.len());
    match numbers.next(12) {
        0..3 => bytes[place] ^= 1 << numbers.next(8),
        3..5 => bytes[place] = numbers.next(256) as u8,
        5..8 => {
            let (width, place) = ([2, 4, 8][numbers.next(3)], place & !1);
            let value = LIMITS[numbers.next(LIMITS.len())].to_le_bytes();
            let end = (place + width).min(bytes.len());
            bytes[place..end].copy_from_slice(&value[..end - place]);
        }
        8..11 => {
            let other = others[numbers.next(others.len())].as_slice();
            let from = numbers.next(other.len());
            let length = numbers.next(64).min(other.len() - from).min(bytes.len() - place);
            bytes[place..place + length].copy_from_slice(&other[from..from + length]);
        }
        _ => bytes.truncate(place),
    }
}

/// The same changes every time.
#[test]
fn the_check_holds_of_thousands_of_changes_to_small_images() {
    let originals: Vec<Vec<u8>> = small().into_iter().map(|(_, bytes)| bytes).collect();
    let mut numbers = Numbers(0x0A55_A1E5);
    let (mut surveyed, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = originals[numbers.next(originals.len())].clone();
        for _ in 0..=numbers.next(8) {
            change(&mut bytes, &originals, &mut numbers);
        }
        crate::census::check(&bytes);
        match found(&bytes).pop() {
            Some(Found::Image(_)) => surveyed += 1,
            _ => refused += 1,
        }
    }
    // Both ways are gone down often, else the changes are too small or too large.
    assert!(surveyed > 2_000 && refused > 2_000, "{surveyed} surveyed, {refused} refused");
}
