//! Tables of checksums: what a program holds that computes them without an instruction for it.

use object::read::elf::ProgramHeader;
use object::{LittleEndian, Object, ObjectSection, SectionKind};

use super::file::File;

/// Entries 1 and 2 of a table by bytes, of which entry 0 is 0; reflected, as both are used.
const TABLES: [(&str, u32, u32); 2] =
    [("crc32", 0x7707_3096, 0xEE0E_612C), ("crc32c", 0xF26B_8303, 0xE13B_70F7)];

/// Words that are looked at together.
const BLOCK: usize = 32;

/// The tables among the constants of an image, of entries of 32 or 64 bits; sorted.
pub fn held(file: &File<'_>) -> Vec<&'static str> {
    let mut found = [false; TABLES.len()];
    for section in file.sections() {
        // Not what the program may write to: to bring that into memory too costs more than it gives.
        let is_constant =
            matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString);
        if let (true, Ok(bytes)) = (is_constant, section.data()) {
            look(bytes, &mut found);
        }
    }
    if file.sections().next().is_none() {
        for segment in file.elf_program_headers() {
            look(segment.data(LittleEndian, file.data()).unwrap_or_default(), &mut found);
        }
    }
    TABLES.iter().zip(found).filter(|(_, found)| *found).map(|((name, ..), _)| *name).collect()
}

fn look(bytes: &[u8], found: &mut [bool; TABLES.len()]) {
    let (words, _) = bytes.as_chunks::<4>();
    for (number, block) in words.chunks(BLOCK).enumerate() {
        // The same for every word, which compilers make vector instructions of.
        let is_any = |any: u32, word: &[u8; 4]| {
            let word = u32::from_le_bytes(*word);
            TABLES.iter().fold(any, |any, (_, first, _)| any | u32::from(word == *first))
        };
        if block.iter().fold(0, is_any) == 0 {
            continue;
        }
        for at in number * BLOCK..number * BLOCK + block.len() {
            for ((_, first, second), found) in TABLES.iter().zip(found.iter_mut()) {
                *found |= begins(words, at, [*first, *second]);
            }
        }
    }
}

/// Whether entry 1 of a table is at an index.
fn begins(words: &[[u8; 4]], at: usize, [first, second]: [u32; 2]) -> bool {
    let is = |index: Option<usize>, value: u32| {
        index
            .and_then(|index| words.get(index))
            .is_some_and(|word| u32::from_le_bytes(*word) == value)
    };
    let before = |distance| at.checked_sub(distance);
    let narrow = is(before(1), 0) && is(Some(at + 1), second);
    let wide =
        is(before(2), 0) && is(before(1), 0) && is(Some(at + 1), 0) && is(Some(at + 2), second);
    is(Some(at), first) && (narrow || wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table by bytes of a reflected checksum, computed bit by bit.
    fn table_of(polynomial: u32) -> Vec<u32> {
        let turned = |value: u32| value >> 1 ^ if value & 1 == 1 { polynomial } else { 0 };
        (0..256).map(|byte| (0..8).fold(byte, |value, _| turned(value))).collect()
    }

    #[test]
    fn a_whole_table_of_words_of_32_and_of_64_bits_is_recognised() {
        for (polynomial, expected) in [(0xEDB8_8320, [true, false]), (0x82F6_3B78, [false, true])] {
            let narrow = table_of(polynomial);
            assert_eq!(found(&narrow), expected);
            let wide: Vec<u32> = narrow.iter().flat_map(|entry| [*entry, 0]).collect();
            assert_eq!(found(&wide), expected);
        }
        assert_eq!(found(&(0..999).collect::<Vec<_>>()), [false, false]);
    }

    fn found(words: &[u32]) -> [bool; 2] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut found = [false; TABLES.len()];
        look(&bytes, &mut found);
        found
    }

    #[test]
    fn a_table_is_known_from_its_first_entries_wherever_it_stands() {
        let (_, first, second) = TABLES[1];
        for place in [0, 1, 30, 31, 32, 63] {
            let mut words = vec![7; 80];
            words[place..place + 3].copy_from_slice(&[0, first, second]);
            assert_eq!(found(&words), [false, true], "{place}");
            words[place] = 1;
            assert_eq!(found(&words), [false, false], "the first entry is 0");
            words[place..place + 5].copy_from_slice(&[0, 0, first, 0, second]);
            assert_eq!(found(&words), [false, true], "of 64 bits at {place}");
        }
        assert_eq!(found(&[0, first]), [false, false], "cut short");
    }
}
