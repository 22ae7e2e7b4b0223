//! Counting A64 instructions by mask and value: every instruction is one 32-bit word.
//!
//! Source of the encodings: Arm Architecture Reference Manual, chapter C4. Should-be-one fields are
//! part of the masks (exclusives, ordered loads and stores), because constants in code sections
//! otherwise look like them.

use crate::census::Counts;

/// A word belongs to the first class whose `word & mask == value`.
const TABLE: &[(&str, u32, u32)] = &[
    ("nop", 0xFFFF_FFFF, 0xD503_201F),
    ("yield", 0xFFFF_FFFF, 0xD503_203F),
    ("wfe", 0xFFFF_FFFF, 0xD503_205F),
    ("wfet", 0xFFFF_FFE0, 0xD503_1000),
    ("isb", 0xFFFF_F0FF, 0xD503_30DF),
    ("sb", 0xFFFF_FFFF, 0xD503_30FF),
    ("dmb", 0xFFFF_F0FF, 0xD503_30BF),
    // LDXR, LDAXR; STXR, STLXR; the pairs.
    ("llsc", 0x3FFF_7C00, 0x085F_7C00),
    ("llsc", 0x3FE0_7C00, 0x0800_7C00),
    ("llsc", 0xBFFF_0000, 0x887F_0000),
    ("llsc", 0xBFE0_0000, 0x8820_0000),
    // LDAR, STLR.
    ("ldar_stlr", 0x3FFF_FC00, 0x08DF_FC00),
    ("ldar_stlr", 0x3FFF_FC00, 0x089F_FC00),
    // CAS, CASP.
    ("lse_cas", 0x3FA0_7C00, 0x08A0_7C00),
    ("lse_cas", 0xBFA0_7C00, 0x0820_7C00),
    ("lse_swp", 0x3F20_FC00, 0x3820_8000),
    // LDADD and its seven relatives.
    ("lse_ldop", 0x3F20_8C00, 0x3820_0000),
    // BL; BLR and its authenticating forms.
    ("call_direct", 0xFC00_0000, 0x9400_0000),
    ("call_indirect", 0xFEFF_F000, 0xD63F_0000),
    // MRS from CNTVCT_EL0.
    ("cntvct", 0xFFFF_FFE0, 0xD53B_E040),
    ("crc32", 0x7FE0_E000, 0x1AC0_4000),
    ("pmull", 0xBFE0_FC00, 0x0EE0_E000),
    ("pmull", 0xBFE0_FC00, 0x0E20_E000),
    // Advanced SIMD arithmetic on whole registers of 128 bits.
    ("vector_128", 0xDE00_0000, 0x4E00_0000),
];

/// The number of instructions and the counts by class.
pub fn count(code: &[u8]) -> (u64, Counts) {
    let mut counts: Counts = TABLE.iter().map(|(class, _, _)| (*class, 0)).collect();
    let (words, _) = code.as_chunks::<4>();
    for word in words {
        if let Some(class) = class_of(u32::from_le_bytes(*word)) {
            *counts.entry(class).or_default() += 1;
        }
    }
    (words.len() as u64, counts)
}

fn class_of(word: u32) -> Option<&'static str> {
    let matches = |(_, mask, value): &&(&str, u32, u32)| word & mask == *value;
    TABLE.iter().find(matches).map(|(class, _, _)| *class).filter(|class| match *class {
        // A 64-bit CRC32 has sf set, and only it (the size field is 3 exactly then).
        "crc32" => (word >> 31 == 1) == (word >> 10 & 3 == 3),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as the GNU assembler for aarch64 encodes the instruction in the comment.
    #[test]
    fn each_class_is_counted_from_its_word() {
        for (class, word) in [
            ("nop", 0xD503_201F),           // nop
            ("yield", 0xD503_203F),         // yield
            ("wfe", 0xD503_205F),           // wfe
            ("wfet", 0xD503_1003),          // wfet x3
            ("isb", 0xD503_3FDF),           // isb sy
            ("sb", 0xD503_30FF),            // sb
            ("dmb", 0xD503_3BBF),           // dmb ish
            ("llsc", 0xC85F_FC41),          // ldaxr x1, [x2]
            ("llsc", 0xC803_FC41),          // stlxr w3, x1, [x2]
            ("ldar_stlr", 0xC8DF_FC41),     // ldar x1, [x2]
            ("ldar_stlr", 0x889F_FC41),     // stlr w1, [x2]
            ("lse_cas", 0xC8E1_FC43),       // casal x1, x3, [x2]
            ("lse_swp", 0xF8A1_8043),       // swpa x1, x3, [x2]
            ("lse_ldop", 0xF821_0043),      // ldadd x1, x3, [x2]
            ("crc32", 0x9AC3_5C41),         // crc32cx w1, w2, x3
            ("pmull", 0x0EE2_E020),         // pmull v0.1q, v1.1d, v2.1d
            ("call_direct", 0x9400_0001),   // bl .+4
            ("call_indirect", 0xD63F_0040), // blr x2
            ("cntvct", 0xD53B_E041),        // mrs x1, cntvct_el0
            ("vector_128", 0x4EA2_8420),    // add v0.4s, v1.4s, v2.4s
            ("vector_128", 0x6E22_3C20),    // cmhs v0.16b, v1.16b, v2.16b
        ] {
            assert_eq!(class_of(word), Some(class), "{word:#x}");
        }
    }

    #[test]
    fn ordinary_words_have_no_class() {
        // ret; add x0, x1, x2; ldr x1, [x2]; udf #0; ldapr x1, [x2].
        for word in [0xD65F_03C0, 0x8B02_0020, 0xF940_0041, 0, 0xF8BF_C041] {
            assert_eq!(class_of(word), None, "{word:#x}");
        }
    }
}
