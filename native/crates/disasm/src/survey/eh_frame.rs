//! The functions that an `.eh_frame` section knows: where unwinding information begins and ends.
//!
//! Compilers write an entry for every function, so that what no entry covers is assembler without
//! one, padding, or data. Source of the format: Linux Standard Base, Core, 10.6 "Exception Frames".

use std::collections::HashMap;

use super::bytes::Cursor;

const PC_RELATIVE: u8 = 0x10;
const INDIRECT: u8 = 0x80;
const OMITTED: u8 = 0xFF;

/// The ranges of addresses of all entries that can be read, in their order in the section.
/// Whatever is broken ends the walk: what was read until then stands.
pub fn ranges(section: &[u8], address: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut encodings: HashMap<usize, Option<u8>> = HashMap::new();
    // Those that use the same common entry mostly stand together.
    let mut last = (usize::MAX, None);
    let mut at = 0;
    while let Some(entry) = Entry::at(section, at) {
        at = entry.end;
        let Some(kind) = entry.kind(section) else { break };
        if kind == 0 {
            continue; // a common entry; read when an entry of a function names it
        }
        let Some(common) = entry.body.checked_sub(kind as usize) else { continue };
        if last.0 != common {
            let read = || pointer_encoding(section, common);
            last = (common, *encodings.entry(common).or_insert_with(read));
        }
        let Some(encoding) = last.1 else { continue };
        let mut cursor = Cursor::new(&section[..entry.end], entry.body + 4);
        if let Some(range) = function(&mut cursor, address, encoding) {
            found.push(range);
        }
    }
    found
}

/// One entry: where what follows its length begins, and where the next one does.
struct Entry {
    body: usize,
    end: usize,
}

impl Entry {
    fn at(section: &[u8], at: usize) -> Option<Self> {
        let mut cursor = Cursor::new(section, at);
        let mut length = u64::from(cursor.u32()?);
        if length == 0xFFFF_FFFF {
            length = cursor.u64()?;
        }
        let end = cursor.at.checked_add(usize::try_from(length).ok()?)?;
        // Length zero is the end mark; linked files may have some in the middle.
        (end <= section.len()).then_some(Self { body: cursor.at, end })
    }

    /// 0 for a common entry, else the distance back to one. An end mark counts as common.
    fn kind(&self, section: &[u8]) -> Option<u32> {
        if self.body == self.end { Some(0) } else { Cursor::new(section, self.body).u32() }
    }
}

/// How entries that use this common one write addresses.
fn pointer_encoding(section: &[u8], at: usize) -> Option<u8> {
    let entry = Entry::at(section, at)?;
    if entry.kind(section)? != 0 {
        return None;
    }
    let mut cursor = Cursor::new(section.get(..entry.end)?, entry.body + 4);
    let version = cursor.u8()?;
    let augmentation = cursor.c_string()?;
    if augmentation.first() != Some(&b'z') {
        return augmentation.is_empty().then_some(0);
    }
    cursor.uleb()?; // code alignment
    cursor.uleb()?; // data alignment
    if version == 1 {
        cursor.u8()?;
    } else {
        cursor.uleb()?; // return address register
    }
    cursor.uleb()?; // length of what follows
    for letter in &augmentation[1..] {
        match letter {
            b'R' => return cursor.u8(),
            b'L' => _ = cursor.u8()?,
            b'P' => {
                let encoding = cursor.u8()?;
                cursor.take(width(encoding)?)?;
            }
            b'S' | b'B' | b'G' => {}
            _ => return None,
        }
    }
    Some(0)
}

fn function(cursor: &mut Cursor<'_>, section: u64, encoding: u8) -> Option<(u64, u64)> {
    if encoding == OMITTED || encoding & INDIRECT != 0 {
        return None;
    }
    let place = section.wrapping_add(cursor.at as u64);
    let raw = number(cursor, encoding)?;
    let start = match encoding & 0x70 {
        0 => raw,
        PC_RELATIVE => place.wrapping_add(raw),
        _ => return None,
    };
    // The length is written like the address, but never relative or negative.
    let length = number(cursor, encoding & 0x07)?;
    Some((start, start.checked_add(length)?))
}

fn number(cursor: &mut Cursor<'_>, encoding: u8) -> Option<u64> {
    match encoding & 0x0F {
        0x00 | 0x04 | 0x0C => cursor.u64(),
        0x02 => cursor.u16().map(u64::from),
        0x03 => cursor.u32().map(u64::from),
        0x0A => cursor.u16().map(|value| i64::from(value.cast_signed()).cast_unsigned()),
        0x0B => cursor.u32().map(|value| i64::from(value.cast_signed()).cast_unsigned()),
        _ => None,
    }
}

fn width(encoding: u8) -> Option<usize> {
    match encoding & 0x0F {
        0x00 | 0x04 | 0x0C => Some(8),
        0x02 | 0x0A => Some(2),
        0x03 | 0x0B => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section with one common entry (`zR`, pc-relative signed 32 bits) and the given functions,
    /// each as an offset from the section and a length.
    fn section(functions: &[(i32, u32)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(16u32.to_le_bytes());
        bytes.extend([0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 30, 1, 0x1B, 0, 0, 0]);
        for (offset, length) in functions {
            let start = bytes.len() as i32;
            bytes.extend(16u32.to_le_bytes());
            bytes.extend((start + 4).to_le_bytes());
            bytes.extend((offset - (start + 8)).to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend([0; 4]);
        }
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn functions_are_where_their_entries_say() {
        let bytes = section(&[(-4096, 64), (128, 8)]);
        assert_eq!(ranges(&bytes, 0x10000), [(0xF000, 0xF040), (0x10080, 0x10088)]);
    }

    #[test]
    fn a_section_that_ends_early_gives_what_was_whole() {
        let bytes = section(&[(-4096, 64), (128, 8)]);
        let all = ranges(&bytes, 0x10000);
        for length in 0..bytes.len() {
            let some = ranges(&bytes[..length], 0x10000);
            assert_eq!(some, all[..some.len()], "{length}");
        }
    }
}
