//! One pass over the words of a section: the few that matter become events.
//!
//! The top bits of a word say whether it can matter; the masks decide. Source of the encodings: Arm
//! Architecture Reference Manual, chapter C4. Should-be-one fields are part of the masks, because
//! constants in code sections otherwise look like exclusives.

use super::super::code::Code;
use super::super::parts;
use super::blocks::marked;

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    LoadExclusive,
    StoreExclusive,
    Ldar,
    Stlr,
    Ldapr,
    Cas,
    Swp,
    LdOp,
    Crc32,
    // The classes above have few fixed bits: outside of known code they are not counted.
    PmullQ,
    Aes,
    Sha,
    Yield,
    Wfe,
    Wfet,
    Isb,
    Sb,
    Dmb,
    Dsb,
    /// A register that says what the CPU can do.
    IdRegister,
    Timer,
    Bti,
    Pac,
    /// `mov w0 or x0` of a number that asks for HWCAP or names SIGILL.
    Argument,
    /// A branch at most 64 instructions back.
    Back,
}

/// How many classes events have: all but the last.
pub const CLASSES: usize = Class::Back as usize;

/// Words that are worth a thread.
pub const PART: usize = 1 << 17;

/// Backward branches further than this make no loop here.
pub const LOOP_WORDS: i64 = 64;

impl Class {
    /// Whether constants may look like it.
    pub fn is_weak(self) -> bool {
        self <= Class::Crc32
    }

    /// CAS, CASP, SWP, LD<op>, ST<op>.
    pub fn is_lse(self) -> bool {
        matches!(self, Class::Cas | Class::Swp | Class::LdOp)
    }

    /// Load or store exclusive.
    pub fn is_exclusive(self) -> bool {
        matches!(self, Class::LoadExclusive | Class::StoreExclusive)
    }

    /// What a spinning core is told.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Class::Yield => Some("yield"),
            Class::Wfe | Class::Wfet => Some("wfe"),
            Class::Isb => Some("isb"),
            Class::Sb => Some("sb"),
            _ => None,
        }
    }

    /// Checksums and ciphers by instruction.
    pub fn accelerated(self) -> Option<&'static str> {
        match self {
            Class::Crc32 => Some("crc32"),
            Class::PmullQ => Some("pmull_q"),
            Class::Aes => Some("aes"),
            Class::Sha => Some("sha"),
            _ => None,
        }
    }
}

/// A word that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index of the word in its section.
    pub index: u32,
    pub class: Class,
}

/// The words of a section that matter, each list in order. Branches back are many, and most matchers
/// do not ask for them.
#[derive(Debug, Default)]
pub struct Events {
    /// All but branches back.
    pub listed: Vec<Event>,
    /// The indices of branches back.
    pub back: Vec<u32>,
}

impl Events {
    fn joined(parts: &[Self]) -> Self {
        let listed = parts.iter().map(|part| part.listed.as_slice()).collect::<Vec<_>>();
        let back = parts.iter().map(|part| part.back.as_slice()).collect::<Vec<_>>();
        Self { listed: listed.concat(), back: back.concat() }
    }

    /// Leaves out what stands among data.
    pub fn keep_code(&mut self, code: &Code<'_>) {
        let is_code = |index: u32| !code.data.contains(code.at(index as usize));
        if !code.data.is_empty() {
            self.listed.retain(|event| is_code(event.index));
            self.back.retain(|index| is_code(*index));
        }
    }
}

/// What matters in a section, before it is known what of it is code.
pub fn scan(code: &Code<'_>) -> Events {
    let (words, _) = code.bytes.as_chunks::<4>();
    // Sections beyond 16 GiB do not exist.
    let words = &words[..words.len().min(u32::MAX as usize)];
    let parts = parts::map(words.len(), PART, |part| {
        let length = part.len();
        let (mut listed, mut back) =
            (Vec::with_capacity(length / 64), Vec::with_capacity(length / 64));
        marked(code, part, may_matter, |index, word| match class_of(word) {
            Some(Class::Back) => back.push(index as u32),
            Some(class) => listed.push(Event { index: index as u32, class }),
            None => {}
        });
        Events { listed, back }
    });
    Events::joined(&parts)
}

/// Whether a word may have a class; never no for one that has. The same arithmetic for every word:
/// a processor guesses wrong which one matters.
#[inline(always)]
fn may_matter(word: u32) -> bool {
    let fixed = |mask: u32, value: u32| word & mask == value;
    let near = |distance: i32| distance.wrapping_add(LOOP_WORDS as i32).cast_unsigned() <= 64;
    let aligned = |up: u32, down: u32| (word << up).cast_signed() >> down;
    let is_atomic = fixed(0x3F00_0000, 0x0800_0000) | fixed(0x3F20_0C00, 0x3820_0000);
    let is_argument = fixed(0x7FFF_FC1F, 0x5280_0000);
    let is_crc32 = fixed(0x7FE0_E000, 0x1AC0_4000);
    let is_vector = fixed(0xBFE0_FC00, 0x0EE0_E000)
        | fixed(0xFFFF_CC00, 0x4E28_4800)
        | fixed(0xFFC0_0000, 0x5E00_0000)
        | fixed(0xFF00_0000, 0xCE00_0000);
    let by_19_bits = fixed(0xFF00_0000, 0x5400_0000) | fixed(0x7E00_0000, 0x3400_0000);
    let is_back = by_19_bits & near(aligned(8, 13))
        | fixed(0x7E00_0000, 0x3600_0000) & near(aligned(13, 18))
        | fixed(0xFC00_0000, 0x1400_0000) & near(aligned(6, 6));
    is_atomic | is_argument | is_crc32 | is_vector | is_back | fixed(0xFF00_0000, 0xD500_0000)
}

/// The class of a word.
pub fn class_of(word: u32) -> Option<Class> {
    classify(GROUPS[(word >> GROUP_SHIFT) as usize], word)
}

/// The class of a word that is a hint, a barrier or a move from a system register.
pub fn of_system(word: u32) -> Option<Class> {
    if word >> 24 == 0xD5 { system(word) } else { None }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    None,
    Exclusive,
    Register,
    System,
    Number,
    TwoSources,
    Vector,
    FlagsOrZero,
    Bit,
    Always,
}

/// The bits below those that say the group.
const GROUP_SHIFT: u32 = 21;

/// By the top eleven bits: the top byte and the three below.
const GROUPS: [Group; 1 << (32 - GROUP_SHIFT)] = {
    let mut groups = [Group::None; 1 << (32 - GROUP_SHIFT)];
    let mut top = 0;
    while top < groups.len() {
        groups[top] = match (top >> 3, top & 7) {
            (0x08 | 0x48 | 0x88 | 0xC8, _) => Group::Exclusive,
            (0x38 | 0x78 | 0xB8 | 0xF8, 1 | 3 | 5 | 7) => Group::Register,
            (0xD5, 0 | 1) => Group::System,
            (0x52 | 0xD2, 4) => Group::Number,
            (0x1A | 0x9A, 6) => Group::TwoSources,
            (0x0E | 0x4E, 7) | (0x4E | 0x5E, 1) | (0x5E, 0) | (0xCE, 3 | 6) => Group::Vector,
            (0x54 | 0x34 | 0x35 | 0xB4 | 0xB5, 0 | 7) => Group::FlagsOrZero,
            (0x36 | 0x37 | 0xB6 | 0xB7, _) => Group::Bit,
            (0x17, 7) => Group::Always,
            _ => Group::None,
        };
        top += 1;
    }
    groups
};

#[inline(always)]
fn classify(group: Group, word: u32) -> Option<Class> {
    match group {
        Group::None => None,
        Group::Exclusive => exclusive(word),
        Group::Register if word & 0x0020_0C00 == 0x0020_0000 => atomic(word),
        Group::Register => None,
        Group::System => system(word),
        Group::Number => is_argument(word).then_some(Class::Argument),
        Group::TwoSources => is_crc32(word).then_some(Class::Crc32),
        Group::Vector => vector(word),
        // The distance is negative and small: all its upper bits are set, or it is 0.
        Group::FlagsOrZero => is_back(word << 8, 13).then_some(Class::Back),
        Group::Bit => is_back(word << 13, 18).then_some(Class::Back),
        Group::Always => is_back(word << 6, 6).then_some(Class::Back),
    }
}

/// Whether the signed distance in the top bits of `aligned` (all but the lowest `below`) is from -64
/// to 0.
#[inline(always)]
fn is_back(aligned: u32, below: u32) -> bool {
    let distance = i64::from(aligned.cast_signed() >> below);
    (-LOOP_WORDS..=0).contains(&distance)
}

fn exclusive(word: u32) -> Option<Class> {
    if word & 0x3FFF_7C00 == 0x085F_7C00 || word & 0xBFFF_0000 == 0x887F_0000 {
        Some(Class::LoadExclusive)
    } else if word & 0x3FE0_7C00 == 0x0800_7C00 || word & 0xBFE0_0000 == 0x8820_0000 {
        Some(Class::StoreExclusive)
    } else if word & 0x3FFF_FC00 == 0x08DF_FC00 {
        Some(Class::Ldar)
    } else if word & 0x3FFF_FC00 == 0x089F_FC00 {
        Some(Class::Stlr)
    } else if word & 0x3FA0_7C00 == 0x08A0_7C00
        // Of pairs, both registers are even.
        || word & 0xBFA0_7C00 == 0x0820_7C00 && word & 0x0001_0001 == 0
    {
        Some(Class::Cas)
    } else {
        None
    }
}

fn atomic(word: u32) -> Option<Class> {
    if word & 0x3FFF_FC00 == 0x38BF_C000 {
        Some(Class::Ldapr)
    } else if word & 0x3F20_FC00 == 0x3820_8000 {
        Some(Class::Swp)
    } else if word & 0x3F20_8C00 == 0x3820_0000 {
        Some(Class::LdOp)
    } else {
        None
    }
}

fn is_argument(word: u32) -> bool {
    // x0 or w0 = AT_HWCAP, AT_HWCAP2, AT_HWCAP3, SIGILL.
    matches!(word & 0x7FFF_FFFF, 0x5280_0200 | 0x5280_0340 | 0x5280_03A0 | 0x5280_0080)
}

/// A 64-bit CRC32 has sf set, and only it (the size field is 3 exactly then).
fn is_crc32(word: u32) -> bool {
    word & 0x7FE0_E000 == 0x1AC0_4000 && (word >> 31 == 1) == (word >> 10 & 3 == 3)
}

fn vector(word: u32) -> Option<Class> {
    let sha3_registers = word & 0xFFE0_8C00 == 0x5E00_0000 && word >> 12 & 7 != 7;
    let sha2_registers = word & 0xFFFF_CC00 == 0x5E28_0800 && word >> 12 & 3 != 3;
    // The fourth of this group is RAX1, of SHA-3.
    let sha512 = word & 0xFFE0_F000 == 0xCE60_8000 && word >> 10 & 3 != 3;
    if word & 0xBFE0_FC00 == 0x0EE0_E000 {
        Some(Class::PmullQ)
    } else if word & 0xFFFF_CC00 == 0x4E28_4800 {
        Some(Class::Aes)
    } else if sha3_registers || sha2_registers || sha512 || word & 0xFFFF_FC00 == 0xCEC0_8000 {
        Some(Class::Sha)
    } else {
        None
    }
}

fn system(word: u32) -> Option<Class> {
    match word {
        0xD503_203F => return Some(Class::Yield),
        0xD503_205F => return Some(Class::Wfe),
        0xD503_30FF => return Some(Class::Sb),
        0xD503_233F | 0xD503_237F => return Some(Class::Pac), // PACIASP, PACIBSP
        _ => {}
    }
    let register = word & 0xFFFF_FFE0;
    if register == 0xD503_1000 {
        Some(Class::Wfet)
    } else if word & 0xFFFF_FF3F == 0xD503_241F {
        Some(Class::Bti)
    } else if word & 0xFFFF_F0FF == 0xD503_30DF {
        Some(Class::Isb)
    } else if word & 0xFFFF_F0FF == 0xD503_30BF {
        Some(Class::Dmb)
    } else if word & 0xFFFF_F0FF == 0xD503_309F {
        Some(Class::Dsb)
    } else if register == 0xD53B_E040 || register == 0xD53B_E0C0 {
        Some(Class::Timer)
    } else if word & 0xFFFF_F000 == 0xD538_0000
        || register == 0xD53B_0020
        || register == 0xD53B_00E0
    {
        Some(Class::IdRegister)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as the GNU assembler for aarch64 encodes the instruction in the comment.
    #[test]
    fn each_class_is_known_from_its_word() {
        for (class, word) in [
            (Class::LoadExclusive, 0xC85F_FC41),  // ldaxr x1, [x2]
            (Class::LoadExclusive, 0xC87F_0480),  // ldxp x0, x1, [x4]
            (Class::StoreExclusive, 0xC803_FC41), // stlxr w3, x1, [x2]
            (Class::StoreExclusive, 0xC82F_0C82), // stxp w15, x2, x3, [x4]
            (Class::Ldar, 0xC8DF_FC41),           // ldar x1, [x2]
            (Class::Stlr, 0x889F_FC41),           // stlr w1, [x2]
            (Class::Ldapr, 0xF8BF_C041),          // ldapr x1, [x2]
            (Class::Cas, 0xC8E1_FC43),            // casal x1, x3, [x2]
            (Class::Cas, 0x4820_7C82),            // casp x0, x1, x2, x3, [x4]
            (Class::Swp, 0xF8A1_8043),            // swpa x1, x3, [x2]
            (Class::LdOp, 0xF821_0043),           // ldadd x1, x3, [x2]
            (Class::LdOp, 0xF821_005F),           // stadd x1, [x2]
            (Class::Crc32, 0x9AC3_5C41),          // crc32cx w1, w2, x3
            (Class::PmullQ, 0x0EE2_E020),         // pmull v0.1q, v1.1d, v2.1d
            (Class::Aes, 0x4E28_4820),            // aese v0.16b, v1.16b
            (Class::Sha, 0x5E02_4020),            // sha256h q0, q1, v2.4s
            (Class::Sha, 0x5E28_0820),            // sha1h s0, s1
            (Class::Yield, 0xD503_203F),          // yield
            (Class::Wfe, 0xD503_205F),            // wfe
            (Class::Wfet, 0xD503_1003),           // wfet x3
            (Class::Isb, 0xD503_3FDF),            // isb sy
            (Class::Sb, 0xD503_30FF),             // sb
            (Class::Dmb, 0xD503_3BBF),            // dmb ish
            (Class::Dsb, 0xD503_3F9F),            // dsb sy
            (Class::IdRegister, 0xD538_0600),     // mrs x0, id_aa64isar0_el1
            (Class::Timer, 0xD53B_E041),          // mrs x1, cntvct_el0
            (Class::Bti, 0xD503_245F),            // bti c
            (Class::Pac, 0xD503_233F),            // paciasp
            (Class::Argument, 0xD280_0200),       // mov x0, #16
            (Class::Argument, 0x5280_0340),       // mov w0, #26
            (Class::Back, 0x54FF_FFA1),           // b.ne .-12
            (Class::Back, 0x35FF_FF91),           // cbnz w17, .-16
            (Class::Back, 0x17FF_FFFF),           // b .-4
        ] {
            assert_eq!(class_of(word), Some(class), "{word:#x}");
            assert!(may_matter(word), "{word:#x}");
        }
    }

    #[test]
    fn words_that_only_look_alike_have_no_class() {
        for word in [
            0xD65F_03C0, // ret
            0x0843_7C41, // ldxrb with a should-be-one field that is not
            0x9AC3_4041, // a CRC32 of 64 bits with the size of 8
            0x0821_7C43, // casp of odd registers
            0xCE62_8C20, // rax1 v0.2d, v1.2d, v2.2d
            0x5400_0061, // b.ne forward
            0x54FF_F7E1, // b.ne .-260
            0x17FF_FFBF, // b .-260
            0,
        ] {
            assert_eq!(class_of(word), None, "{word:#x}");
        }
    }

    #[test]
    fn a_loop_is_at_most_64_instructions_long() {
        assert_eq!(class_of(0x54FF_F801), Some(Class::Back)); // b.ne .-256
        assert_eq!(class_of(0x17FF_FFC0), Some(Class::Back)); // b .-256
        assert_eq!(class_of(0x3607_F800), Some(Class::Back)); // tbz w0, #0, .-256
    }

    /// Whatever the masks of a class leave open among the top bits leads to its group.
    #[test]
    fn the_groups_hide_nothing() {
        let masks: [(u32, u32); 20] = [
            (0x3FFF_7C00, 0x085F_7C00),
            (0x3FE0_7C00, 0x0800_7C00),
            (0xBFFF_0000, 0x887F_0000),
            (0xBFE0_0000, 0x8820_0000),
            (0x3FFF_FC00, 0x08DF_FC00),
            (0x3FFF_FC00, 0x089F_FC00),
            (0x3FFF_FC00, 0x38BF_C000),
            (0x3FA0_7C00, 0x08A0_7C00),
            (0xBFA0_7C00, 0x0820_7C00),
            (0x3F20_8C00, 0x3820_0000),
            (0x3F20_FC00, 0x3820_8000),
            (0xBFE0_FC00, 0x0EE0_E000),
            (0xFFFF_CC00, 0x4E28_4800),
            (0xFFE0_8C00, 0x5E00_0000),
            (0xFFFF_CC00, 0x5E28_0800),
            (0xFFE0_F000, 0xCE60_8000),
            (0xFFFF_FC00, 0xCEC0_8000),
            (0xFFFF_F0FF, 0xD503_30DF),
            (0xFFFF_FFE0, 0xD53B_E040),
            (0xFFFF_F000, 0xD538_0000),
        ];
        for (mask, value) in masks {
            let free = !mask >> GROUP_SHIFT;
            for bits in (0..GROUPS.len() as u32).filter(|bits| bits & !free == 0) {
                let word = value | bits << GROUP_SHIFT;
                assert!(class_of(word).is_some() && may_matter(word), "{word:#x}");
            }
        }
    }
}
