//! The fields of A64 instructions that matchers need: branch targets, registers, memory operands.
//!
//! Source of the encodings: Arm Architecture Reference Manual, chapter C4. Register 31 is the stack
//! pointer or zero, and never part of a set of registers.

/// A set of general registers, one bit each.
pub type Registers = u32;

const ALL: Registers = 0x7FFF_FFFF;

/// What a call of an ordinary function may change: x0-x18 and the link register.
pub const CALL_CLOBBERS: Registers = 0x4007_FFFF;
/// What a call of an outline-atomics helper may change: its result, x15-x17, the link register.
pub const HELPER_CLOBBERS: Registers = 0x4003_8001;

pub const RET: u32 = 0xD65F_03C0;
pub const NOP: u32 = 0xD503_201F;

/// Bits 4 to 0: the register that most instructions write.
pub fn rd(word: u32) -> u8 {
    (word & 31) as u8
}

/// Bits 9 to 5: the first source, or the base address.
pub fn rn(word: u32) -> u8 {
    (word >> 5 & 31) as u8
}

/// Bits 20 to 16: the second source.
pub fn rm(word: u32) -> u8 {
    (word >> 16 & 31) as u8
}

/// The set of one register.
pub fn bit(register: u8) -> Registers {
    (1u32 << (register & 31)) & ALL
}

fn signed(value: u32, bits: u32) -> i64 {
    let shift = 32 - bits;
    i64::from((value << shift).cast_signed() >> shift)
}

/// The result of ADRP.
#[inline]
pub fn adrp(word: u32, address: u64) -> u64 {
    let immediate = (word >> 5 & 0x7_FFFF) << 2 | word >> 29 & 3;
    (address & !0xFFF).wrapping_add_signed(signed(immediate, 21) << 12)
}

/// The kinds of branch with a target in the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    Always,
    Call,
    /// By flags, with the condition.
    Flags(u8),
    /// CBZ or CBNZ: the register, and whether zero branches.
    Zero(u8, bool),
    /// TBZ or TBNZ: register, bit, and whether zero branches.
    Bit(u8, u8, bool),
}

/// Whether a word is of the group with branches; never no for one.
#[inline(always)]
pub fn may_branch(word: u32) -> bool {
    word >> 26 & 7 == 5
}

/// The kind of branch, and its target relative to the instruction, in words.
#[inline]
pub fn branch(word: u32) -> Option<(Branch, i64)> {
    let wide = || signed(word >> 5, 19);
    match word >> 24 {
        0x14..=0x17 => Some((Branch::Always, signed(word, 26))),
        0x94..=0x97 => Some((Branch::Call, signed(word, 26))),
        0x54 => Some((Branch::Flags((word & 15) as u8), wide())),
        0x34 | 0xB4 => Some((Branch::Zero(rd(word), true), wide())),
        0x35 | 0xB5 => Some((Branch::Zero(rd(word), false), wide())),
        0x36 | 0xB6 | 0x37 | 0xB7 => {
            let bit = (word >> 31 << 5 | word >> 19 & 31) as u8;
            let on_zero = word >> 24 & 1 == 0;
            Some((Branch::Bit(rd(word), bit, on_zero), signed(word >> 5, 14)))
        }
        _ => None,
    }
}

/// The index that a branch at `index` goes to. One before the section (a call of a stub, say) wraps
/// around to a number that no section has; its address is right all the same.
#[inline]
pub fn branch_to(index: usize, word: u32) -> Option<(Branch, usize)> {
    let (kind, distance) = branch(word)?;
    Some((kind, index.wrapping_add_signed(distance as isize)))
}

/// RET, and BR to anywhere: nothing falls through.
#[inline(always)]
pub fn is_return_or_jump(word: u32) -> bool {
    (word == RET) | (word & 0xFEFF_F800 == 0xD61F_0000)
}

/// BLR.
pub fn is_indirect_call(word: u32) -> bool {
    word & 0xFEFF_F000 == 0xD63F_0000
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Load,
    Store,
    /// LDAR, LDAPR.
    Acquire,
    /// STLR.
    Release,
    LoadExclusive,
    StoreExclusive,
    /// CAS, CASP.
    Compare,
    /// SWP, LD<op>, ST<op>.
    Atomic,
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub access: Access,
    pub base: u8,
    /// An index register.
    pub index: Option<u8>,
    /// Whether the base changes.
    pub writes_base: bool,
    /// Whether the data are in vector registers.
    pub is_vector: bool,
    /// General registers that the data come to.
    pub loads: Registers,
    /// The register stored, of single stores.
    pub stores: u8,
}

impl Memory {
    fn new(access: Access, word: u32, loads: Registers) -> Self {
        let (base, stores) = (rn(word), rd(word));
        Self { access, base, index: None, writes_base: false, is_vector: false, loads, stores }
    }
}

/// The memory operand of an instruction, if it is one of the usual loads and stores.
#[inline]
pub fn memory(word: u32) -> Option<Memory> {
    if word & 0x0A00_0000 != 0x0800_0000 {
        return None;
    }
    let is_vector = word >> 26 & 1 == 1;
    if word & 0x3F00_0000 == 0x0800_0000 {
        return Some(exclusive(word));
    }
    if word & 0x3B00_0000 == 0x1800_0000 {
        let loads = if is_vector || word >> 30 == 3 { 0 } else { bit(rd(word)) };
        // A literal: the address is fixed.
        return Some(Memory { base: 31, is_vector, ..Memory::new(Access::Load, word, loads) });
    }
    if word & 0x3A00_0000 == 0x2800_0000 {
        let is_load = word >> 22 & 1 == 1;
        let pair = bit(rd(word)) | bit((word >> 10 & 31) as u8);
        let loads = if is_load && !is_vector { pair } else { 0 };
        let access = if is_load { Access::Load } else { Access::Store };
        let writes_base = word >> 23 & 1 == 1;
        return Some(Memory { writes_base, is_vector, ..Memory::new(access, word, loads) });
    }
    if word & 0x3F20_0C00 == 0x1900_0000 {
        let is_load = word >> 22 & 3 != 0;
        let loads = if is_load { bit(rd(word)) } else { 0 };
        let access = if is_load { Access::Acquire } else { Access::Release };
        return Some(Memory::new(access, word, loads));
    }
    if word & 0x3A00_0000 == 0x3800_0000 { Some(single(word, is_vector)) } else { None }
}

#[inline]
fn exclusive(word: u32) -> Memory {
    let is_load = word >> 22 & 1 == 1;
    let (ordered, pair) = (word >> 23 & 1 == 1, word >> 21 & 1 == 1);
    let both = bit(rd(word)) | bit((word >> 10 & 31) as u8);
    match (ordered, pair) {
        (true, true) => Memory::new(Access::Compare, word, bit(rm(word))),
        (false, true) if word >> 31 == 0 => {
            let results = bit(rm(word)) | bit(rm(word) | 1);
            Memory::new(Access::Compare, word, results)
        }
        (true, false) if is_load => Memory::new(Access::Acquire, word, bit(rd(word))),
        (true, false) => Memory::new(Access::Release, word, 0),
        (false, pair) if is_load => {
            let loads = if pair { both } else { bit(rd(word)) };
            Memory::new(Access::LoadExclusive, word, loads)
        }
        // The status register is written, but holds no data.
        _ => Memory::new(Access::StoreExclusive, word, 0),
    }
}

/// Loads and stores of one register, and the atomic ones among them.
#[inline]
fn single(word: u32, is_vector: bool) -> Memory {
    let size_is_8 = word >> 30 == 3;
    let operation = word >> 22 & 3;
    let by_register = word & 0x0120_0C00;
    if by_register == 0x0020_0000 && !is_vector {
        let is_acquire = word & 0x00A0_FC00 == 0x00A0_C000; // LDAPR
        let access = if is_acquire { Access::Acquire } else { Access::Atomic };
        return Memory { stores: rm(word), ..Memory::new(access, word, bit(rd(word))) };
    }
    let is_load = if is_vector { operation & 1 == 1 } else { operation != 0 };
    // PRFM has the place of a load, and loads nothing.
    let is_hint = size_is_8 && operation == 2 && !is_vector;
    let loads = if is_load && !is_vector && !is_hint { bit(rd(word)) } else { 0 };
    let access = if is_load { Access::Load } else { Access::Store };
    Memory {
        index: (by_register == 0x0020_0800).then(|| rm(word)),
        writes_base: matches!(by_register, 0x0000_0400 | 0x0000_0C00),
        is_vector,
        ..Memory::new(access, word, loads)
    }
}

/// The general registers that an instruction writes.
pub fn writes(word: u32) -> Registers {
    match word >> 25 & 15 {
        0b1000 | 0b1001 => bit(rd(word)),
        0b1010 | 0b1011 => {
            let is_call = word >> 26 == 0b10_0101 || is_indirect_call(word);
            let is_mrs = word & 0xFFF0_0000 == 0xD530_0000;
            if is_call {
                bit(30)
            } else if is_mrs {
                bit(rd(word))
            } else {
                0
            }
        }
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory(word).map_or(0, |memory| {
            let status = if memory.access == Access::StoreExclusive { bit(rm(word)) } else { 0 };
            let base = if memory.writes_base { bit(memory.base) } else { 0 };
            memory.loads | status | base
        }),
        // CCMP and CCMN have flags where others have their result.
        0b0101 | 0b1101 if word & 0x1FE0_0000 == 0x1A40_0000 => 0,
        0b0101 | 0b1101 => bit(rd(word)),
        0b0111 | 0b1111 if to_general(word) => bit(rd(word)),
        _ => 0,
    }
}

/// Whether a vector instruction has a general register as its result.
fn to_general(word: u32) -> bool {
    let converts = word & 0x5F20_FC00 == 0x1E20_0000 && !matches!(word >> 16 & 7, 2 | 3 | 7);
    converts || word & 0xBFE0_EC00 == 0x0E00_2C00 // UMOV, SMOV
}

/// The general registers that arithmetic reads.
pub fn reads(word: u32) -> Registers {
    match word >> 25 & 15 {
        0b1000 | 0b1001 => match word >> 23 & 7 {
            0 | 1 => 0,                                                // ADR, ADRP
            5 if word >> 29 & 3 == 3 => bit(rd(word)),                 // MOVK
            5 => 0,                                                    // MOVZ, MOVN
            6 if word >> 29 & 3 == 1 => bit(rn(word)) | bit(rd(word)), // BFM
            7 => bit(rn(word)) | bit(rm(word)),                        // EXTR
            _ => bit(rn(word)),
        },
        0b0101 | 0b1101 => {
            let one_source = word & 0x5FE0_0000 == 0x5AC0_0000;
            let with_constant = word & 0x1FE0_0800 == 0x1A40_0800; // CCMP with a number
            let second = if one_source || with_constant { 0 } else { bit(rm(word)) };
            let third =
                if word & 0x1F00_0000 == 0x1B00_0000 { bit((word >> 10 & 31) as u8) } else { 0 };
            bit(rn(word)) | second | third
        }
        _ => 0,
    }
}

/// Whether an integer instruction sets the flags.
pub fn sets_flags(word: u32) -> bool {
    word & 0x3F80_0000 == 0x3100_0000       // ADDS, SUBS with a number
        || word & 0x7F80_0000 == 0x7200_0000 // ANDS with a number
        || word & 0x3F00_0000 == 0x2B00_0000 // ADDS, SUBS of registers
        || word & 0x7F00_0000 == 0x6A00_0000 // ANDS, BICS of registers
        || word & 0x3FE0_0000 == 0x3A40_0000 // CCMN, CCMP
}

/// The register and the number of a MOVZ, or of a MOV of the zero register.
pub fn constant(word: u32) -> Option<(u8, u64)> {
    if word & 0x7F80_0000 == 0x5280_0000 {
        let shift = (word >> 21 & 3) * 16;
        return Some((rd(word), u64::from(word >> 5 & 0xFFFF) << shift));
    }
    (word & 0x7FFF_FFE0 == 0x2A1F_03E0).then(|| (rd(word), 0))
}

/// ADD or SUB with a number: destination, source, and the signed number.
pub fn add_number(word: u32) -> Option<(u8, u8, i64)> {
    if word & 0x1F80_0000 != 0x1100_0000 {
        return None;
    }
    let shift = if word >> 22 & 1 == 1 { 12 } else { 0 };
    let number = i64::from(word >> 10 & 0xFFF) << shift;
    Some((rd(word), rn(word), if word >> 30 & 1 == 1 { -number } else { number }))
}

/// CMP or CMN with a number: the register.
pub fn compare_number(word: u32) -> Option<(u8, i64)> {
    let (result, register, number) = add_number(word)?;
    (result == 31 && word >> 29 & 1 == 1).then_some((register, -number))
}

/// MOV of registers: destination and source.
pub fn move_register(word: u32) -> Option<(u8, u8)> {
    (word & 0x7FE0_FFE0 == 0x2A00_03E0).then(|| (rd(word), rm(word)))
}

/// The number of a logical instruction (AND, TST, ...), if it is one.
pub fn logical_number(word: u32) -> Option<u64> {
    if word & 0x1F80_0000 != 0x1200_0000 {
        return None;
    }
    let (n, rotate, ones) = (word >> 22 & 1, word >> 16 & 63, word >> 10 & 63);
    let length = 31 - (n << 6 | !ones & 63).leading_zeros().min(31);
    let size = 1u32 << length;
    if length == 0 || (word >> 31 == 0 && n == 1) {
        return None;
    }
    let (ones, rotate) = (ones & (size - 1), rotate & (size - 1));
    if ones == size - 1 {
        return None;
    }
    let mask = if size == 64 { u64::MAX } else { (1u64 << size) - 1 };
    let element = (1u64 << (ones + 1)) - 1;
    let turned = if rotate == 0 { element } else { element >> rotate | element << (size - rotate) };
    let mut value = turned & mask;
    let mut filled = size;
    while filled < 64 {
        value |= value << filled;
        filled *= 2;
    }
    Some(if word >> 31 == 0 { value & 0xFFFF_FFFF } else { value })
}

/// The lowest bit and the number of bits of a UBFX, or the bit of an LSR: (bit, width).
pub fn bit_field(word: u32) -> Option<(u32, u32)> {
    if word & 0x7F80_0000 != 0x5300_0000 {
        return None;
    }
    let (low, high) = (word >> 16 & 63, word >> 10 & 63);
    (high >= low).then(|| (low, high - low + 1))
}
