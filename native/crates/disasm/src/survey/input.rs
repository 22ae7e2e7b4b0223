//! From a path to the ELF images in it, or to the reason why there are none.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use object::read::archive::ArchiveFile;

/// Files beyond this size of which less than an eighth is on disk are not read: their holes would
/// become memory.
const SPARSE_FROM: u64 = 64 << 20;

const MACHINE_X86_64: u16 = 62;
const MACHINE_AARCH64: u16 = 183;

/// No program is larger.
const FILE_MAX: u64 = 2 << 30;

/// Reads a file, or says why not. Nothing but a regular file is opened. It is not mapped: one that
/// another process cuts meanwhile would end this one by SIGBUS.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    open(path)?.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    match bytes.len() as u64 {
        length if length > FILE_MAX => Err(format!("larger than {FILE_MAX} bytes")),
        0 => Err("empty".to_owned()),
        _ => Ok(bytes),
    }
}

fn cannot(error: std::io::Error) -> String {
    format!("cannot be read: {error}")
}

fn open(path: &Path) -> Result<File, String> {
    let metadata = std::fs::metadata(path).map_err(cannot)?;
    let kind = metadata.file_type();
    let special = [
        (kind.is_dir(), "a directory: give the files in it"),
        (kind.is_fifo(), "a FIFO, not a file"),
        (kind.is_socket(), "a socket, not a file"),
        (kind.is_char_device() || kind.is_block_device(), "a device, not a file"),
    ];
    if let Some((_, why)) = special.iter().find(|(is, _)| *is) {
        return Err((*why).to_owned());
    }
    if metadata.len() == 0 {
        return Err("empty".to_owned());
    }
    let stored = metadata.blocks().saturating_mul(512);
    if metadata.len() >= SPARSE_FROM && stored < metadata.len() / 8 {
        return Err(format!("sparse: of {} bytes only {stored} are on disk", metadata.len()));
    }
    // Should the path have become a FIFO meanwhile, opening it does not wait.
    File::options().read(true).custom_flags(0o4000).open(path).map_err(cannot)
}

/// Gives every image in the bytes to `each`, with the member's name in a static library; an `Err`
/// is one that is not understood.
pub fn images<'a>(bytes: &'a [u8], each: &mut dyn FnMut(Option<String>, Result<&'a [u8], String>)) {
    if bytes.starts_with(b"!<thin>\n") {
        each(None, Err("a thin archive: its members are other files".to_owned()));
    } else if bytes.starts_with(b"!<arch>\n") {
        members(bytes, each);
    } else {
        each(None, checked(bytes));
    }
}

fn members<'a>(bytes: &'a [u8], each: &mut dyn FnMut(Option<String>, Result<&'a [u8], String>)) {
    let archive = match ArchiveFile::parse(bytes) {
        Ok(archive) => archive,
        Err(error) => return each(None, Err(format!("a broken archive: {error}"))),
    };
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            // What follows a broken header cannot be found.
            Err(error) => return each(None, Err(format!("a broken archive: {error}"))),
        };
        let name = Some(String::from_utf8_lossy(member.name()).into_owned());
        match member.data(bytes) {
            Ok(data) => each(name, checked(data)),
            Err(error) => return each(name, Err(format!("a broken archive: {error}"))),
        }
    }
}

/// The bytes, if they are those of a 64-bit little-endian ELF file for a known machine.
fn checked(bytes: &[u8]) -> Result<&[u8], String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err(format!("not an ELF file{}", what_else(bytes)));
    }
    if bytes.len() < 64 {
        return Err(format!("truncated: {} bytes, less than an ELF header", bytes.len()));
    }
    let machine = |big: bool| {
        let pair = [bytes[18], bytes[19]];
        if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    match (bytes[4], bytes[5]) {
        (1, _) => Err("a 32-bit ELF file: only 64-bit ones are known".to_owned()),
        (2, 2) => {
            Err(format!("big-endian (machine {}): only little-endian is known", machine(true)))
        }
        (2, 1) => match machine(false) {
            MACHINE_X86_64 | MACHINE_AARCH64 => packed(bytes),
            other => {
                Err(format!("for machine {other}: only x86-64 (62) and aarch64 (183) are known"))
            }
        },
        _ => Err("a broken ELF header: neither 32 nor 64 bits".to_owned()),
    }
}

/// Refuses what a packer made: it has no section headers, and holds its code compressed.
fn packed(bytes: &[u8]) -> Result<&[u8], String> {
    let sections = u16::from_le_bytes([bytes[60], bytes[61]]);
    let head = &bytes[..bytes.len().min(1024)];
    let marked = memchr::memmem::find(head, b"UPX!").is_some();
    if sections == 0 && (marked || entropy(bytes) > 7.6) {
        return Err("packed (no section headers, compressed contents): unpack it first".to_owned());
    }
    Ok(bytes)
}

/// Bits of information per byte, of the first mebibyte.
fn entropy(bytes: &[u8]) -> f64 {
    let bytes = &bytes[..bytes.len().min(1 << 20)];
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    -counts.iter().filter(|count| **count > 0).map(|c| share(c) * share(c).log2()).sum::<f64>()
}

fn what_else(bytes: &[u8]) -> &'static str {
    let known: [(&[u8], &str); 7] = [
        (b"#!", " but a script"),
        (b"MZ", " but a Windows program"),
        (b"\xcf\xfa\xed\xfe", " but a Mach-O file"),
        (b"\x1f\x8b", " but gzip data"),
        (b"PK\x03\x04", " but a zip file"),
        (b"BC\xc0\xde", " but LLVM bitcode"),
        (b"\0asm", " but WebAssembly"),
    ];
    known.iter().find(|(magic, _)| bytes.starts_with(magic)).map_or("", |(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        let mut found = None;
        images(bytes, &mut |_, image| found = image.err());
        found.unwrap_or_default()
    }

    fn header(class: u8, order: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7F, b'E', b'L', b'F', class, order]);
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    #[test]
    fn bytes_that_are_no_known_elf_file_are_refused_with_the_reason() {
        for (bytes, why) in [
            (b"hello".to_vec(), "not an ELF file"),
            (b"#!/bin/sh\n".to_vec(), "a script"),
            (b"\x7fELF\x02\x01".to_vec(), "truncated"),
            (header(1, 1, [40, 0]), "32-bit"),
            (header(2, 2, [0, 22]), "big-endian (machine 22)"),
            (header(2, 1, [243, 0]), "machine 243"),
            (header(9, 1, [62, 0]), "broken ELF header"),
            (b"!<thin>\n".to_vec(), "thin archive"),
            (b"!<arch>\nnonsense".to_vec(), "broken archive"),
        ] {
            let said = refusal(&bytes);
            assert!(said.contains(why), "{said} for {why}");
        }
    }

    #[test]
    fn what_a_packer_made_is_refused_and_a_plain_file_without_sections_is_not() {
        let mut marked = header(2, 1, [62, 0]);
        marked.extend(b"\0\0\0\0UPX!");
        assert!(refusal(&marked).contains("packed"));
        let mut dense = header(2, 1, [183, 0]);
        let mut state = 1u32;
        dense.extend((0..1 << 16).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }));
        assert!(refusal(&dense).contains("packed"));
        assert_eq!(refusal(&header(2, 1, [183, 0])), "");
    }
}
