//! Small ELF files made in memory, and what a survey says of them.
#![allow(clippy::unwrap_used, dead_code)] // A panic is how a test fails; each test uses a part.

pub mod elf;
pub mod words;

use assay_disasm::survey::report::{Found, Image, Site};
use assay_disasm::survey::survey_bytes;
use serde_json::{Value, json};

/// Where the code of these files begins.
pub const TEXT: u64 = 0x1_0000;

/// A shared library for aarch64 with these words as one function, known by its unwinding entry.
pub fn library(words: &[u32]) -> Vec<u8> {
    library_of(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>(), 183)
}

/// As above, of any code, for any machine.
pub fn library_of(text: &[u8], machine: u16) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.text\0.eh_frame\0.shstrtab\0";
    let frame_at = (64 + text.len()).next_multiple_of(8);
    let frame_address = 0x8_0000u64;
    let frame = eh_frame(frame_address, TEXT, text.len() as u32);
    let names_at = frame_at + frame.len();
    let sections_at = (names_at + NAMES.len()).next_multiple_of(8);
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    push16(&mut bytes, &[3, machine]);
    push32(&mut bytes, &[1]);
    push64(&mut bytes, &[TEXT, 0, sections_at as u64]);
    push32(&mut bytes, &[0]);
    push16(&mut bytes, &[64, 56, 0, 64, 4, 3]);
    bytes.extend(text);
    bytes.resize(frame_at, 0);
    bytes.extend(&frame);
    bytes.extend(NAMES);
    bytes.resize(sections_at, 0);
    section(&mut bytes, [0, 0, 0], 0, 0, 0);
    section(&mut bytes, [1, 1, 6], TEXT, 64, text.len());
    section(&mut bytes, [7, 1, 2], frame_address, frame_at, frame.len());
    section(&mut bytes, [17, 3, 0], 0, names_at, NAMES.len());
    bytes
}

/// One entry of the section table: name, type and flags; address, offset, size.
fn section(bytes: &mut Vec<u8>, what: [u64; 3], address: u64, offset: usize, size: usize) {
    push32(bytes, &[what[0] as u32, what[1] as u32]);
    push64(bytes, &[what[2], address, offset as u64, size as u64]);
    push32(bytes, &[0, 0]);
    push64(bytes, &[4, 0]);
}

/// A common entry and one for the function.
fn eh_frame(section: u64, start: u64, length: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    push32(&mut bytes, &[16]);
    bytes.extend([0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 30, 1, 0x1B, 0, 0, 0]);
    push32(&mut bytes, &[16, 24, (start as i64 - (section as i64 + 28)) as u32, length, 0, 0]);
    bytes
}

pub fn push16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

pub fn push32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

pub fn push64(bytes: &mut Vec<u8>, numbers: &[u64]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Everything that is found in the bytes.
pub fn found(bytes: &[u8]) -> Vec<Found> {
    let mut all = Vec::new();
    let Ok(()) = survey_bytes::<std::convert::Infallible>("test", bytes, true, &mut |found| {
        all.push(found);
        Ok(())
    });
    all
}

/// The one image in the bytes.
pub fn image(bytes: &[u8]) -> Image {
    match found(bytes).pop() {
        Some(Found::Image(image)) => *image,
        other => panic!("no image: {other:?}"),
    }
}

/// Why the bytes are refused.
pub fn refusal(bytes: &[u8]) -> String {
    match found(bytes).pop() {
        Some(Found::Refused(refused)) => refused.why,
        other => panic!("not refused: {other:?}"),
    }
}

/// The sites of some words: kind, facts, and the address from the start of the code.
pub fn sites(words: &[u32]) -> Vec<(String, Value, u64)> {
    let of = |site: &Site| {
        let value = serde_json::to_value(site).unwrap();
        let kind = value["kind"].as_str().unwrap().to_owned();
        (kind, value["facts"].clone(), site.address - TEXT)
    };
    image(&library(words)).sites.iter().map(of).collect()
}

/// The sites of one kind.
pub fn sites_of(words: &[u32], kind: &str) -> Vec<(Value, u64)> {
    let of_kind = sites(words).into_iter().filter(|site| site.0 == kind);
    of_kind.map(|(_, facts, address)| (facts, address)).collect()
}

/// The facts of a spin loop.
pub fn spins(hint: &str, by: &str) -> Value {
    json!({"hint": hint, "by": by})
}
