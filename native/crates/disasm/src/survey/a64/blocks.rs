//! Looking for a few branches or addresses in all words: a block at a time, by arithmetic that is the
//! same for every word, which compilers turn into vector instructions. Only what may hold one is
//! looked at word by word.

use std::ops::Range;

use super::super::code::Code;

/// Words that are looked at together.
pub const BLOCK: usize = 32;

pub type Block = [u32; BLOCK];

/// What a block of words is asked. A method that is always inlined is compiled for wide vectors too.
pub trait Ask {
    /// Whether one of the words may matter; `start` is the index of the first, modulo 2^32.
    fn may_matter(&self, start: u32, block: &Block) -> bool;
}

/// Of every block.
pub struct Every;

impl Ask for Every {
    #[inline(always)]
    fn may_matter(&self, _: u32, _: &Block) -> bool {
        true
    }
}

/// Compiled for the vectors of every processor, and on x86-64 for the wider ones that most have.
macro_rules! with_wide_vectors {
    ($(#[$doc:meta])* $name:ident($by:ident: $ask:ty, $each:ident: $give:ty) = $plain:ident) => {
        $(#[$doc])*
        pub fn $name(code: &Code<'_>, part: Range<usize>, $by: $ask, $each: $give) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1")]
                fn wide(code: &Code<'_>, part: Range<usize>, $by: $ask, $each: $give) {
                    $plain(code, part, $by, $each);
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
                    // SAFETY: this processor has what it is compiled for.
                    return unsafe { wide(code, part, $by, $each) };
                }
            }
            $plain(code, part, $by, $each);
        }
    };
}

with_wide_vectors! {
    /// Gives `each` the words of all blocks in `part` of which one may matter: their indices and
    /// values, in order.
    candidates(ask: &impl Ask, each: impl FnMut(usize, u32)) = find_candidates
}

with_wide_vectors! {
    /// Gives `each` the words in `part` that are marked: their indices and values, in order.
    marked(is_marked: impl Fn(u32) -> bool, each: impl FnMut(usize, u32)) = find_marked
}

#[inline(always)]
fn find_candidates(
    code: &Code<'_>,
    part: Range<usize>,
    ask: &impl Ask,
    mut each: impl FnMut(usize, u32),
) {
    let (words, _) = code.bytes.as_chunks::<4>();
    let (blocks, rest) = words[part.clone()].as_chunks::<BLOCK>();
    let mut start = part.start;
    for bytes in blocks {
        let mut block = [0; BLOCK];
        for (word, bytes) in block.iter_mut().zip(bytes) {
            *word = u32::from_le_bytes(*bytes);
        }
        if ask.may_matter(start as u32, &block) {
            (start..).zip(block).for_each(|(index, word)| each(index, word));
        }
        start += BLOCK;
    }
    (start..).zip(rest).for_each(|(index, word)| each(index, u32::from_le_bytes(*word)));
}

#[inline(always)]
fn find_marked(
    code: &Code<'_>,
    part: Range<usize>,
    is_marked: impl Fn(u32) -> bool,
    mut each: impl FnMut(usize, u32),
) {
    let (words, _) = code.bytes.as_chunks::<4>();
    let mut start = part.start;
    for block in words[part].chunks(64) {
        let mut flags = [0u8; 64];
        for (flag, bytes) in flags.iter_mut().zip(block) {
            *flag = u8::from(is_marked(u32::from_le_bytes(*bytes)));
        }
        let mut bits = packed(&flags);
        while bits != 0 {
            let place = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            each(start + place, u32::from_le_bytes(block[place]));
        }
        start += block.len();
    }
}

/// A bit for each byte, which are 0 or 1.
pub fn packed(flags: &[u8; 64]) -> u64 {
    let (eights, _) = flags.as_chunks::<8>();
    let eights = eights.iter().enumerate();
    eights.fold(0, |all, (k, eight)| {
        all | (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k)
    })
}

/// The places of the bits that are set.
pub fn set_bits(mut bits: u128) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (place < u128::BITS).then_some(place as usize)
    })
}

/// Whether it holds for any.
#[inline(always)]
pub fn any(block: &Block, holds: impl Fn(u32) -> bool) -> bool {
    block.iter().fold(0, |all, value| all | mask(holds(*value))) != 0
}

/// A value for each word, from its index modulo 2^32.
#[inline(always)]
pub fn each(start: u32, block: &Block, value: impl Fn(u32, u32) -> u32) -> Block {
    let mut values = [0; BLOCK];
    for (place, word) in block.iter().enumerate() {
        values[place] = value(start.wrapping_add(place as u32), *word);
    }
    values
}

#[inline(always)]
fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// The index that a branch of any kind goes to, modulo 2^32; for other words that of the word.
#[inline(always)]
pub fn branch_target(index: u32, word: u32) -> u32 {
    let wide = ((word << 8).cast_signed() >> 13).cast_unsigned();
    let narrow = ((word << 13).cast_signed() >> 18).cast_unsigned();
    let is_narrow = mask(word & 0x7E00_0000 == 0x3600_0000);
    let is_wide = mask(word & 0xFF00_0000 == 0x5400_0000) | mask(word & 0x7E00_0000 == 0x3400_0000);
    jump_target(index, word).wrapping_add(wide & is_wide | narrow & is_narrow)
}

/// The same of B and BL only.
#[inline(always)]
pub fn jump_target(index: u32, word: u32) -> u32 {
    let distance = ((word << 6).cast_signed() >> 6).cast_unsigned();
    index.wrapping_add(distance & mask(word & 0x7C00_0000 == 0x1400_0000))
}

/// The page that an ADRP takes the address of, modulo 2^20, counted from the page of the code's first
/// word, which is `ahead` words into it; `NO_PAGE` of other words.
#[inline(always)]
pub fn page(index: u32, word: u32, ahead: u32) -> u32 {
    let distance = (word >> 5 & 0x7_FFFF) << 2 | word >> 29 & 3;
    let page = (index.wrapping_add(ahead) >> 10).wrapping_add(distance) & PAGES;
    page | mask(word & 0x9F00_0000 != 0x9000_0000) & NO_PAGE
}

/// No page's number.
const NO_PAGE: u32 = 1 << 31;

/// What `page` counts of the code's words before the first one, and of an address.
pub fn ahead(code: &Code<'_>) -> u32 {
    (code.address as u32 & 0xFFF) >> 2
}

/// An address as `page` gives it.
pub fn page_of(code: &Code<'_>, address: u64) -> u32 {
    ((address >> 12).wrapping_sub(code.address >> 12)) as u32 & PAGES
}

/// An address as `branch_target` gives it.
pub fn index_of(code: &Code<'_>, address: u64) -> u32 {
    (address.wrapping_sub(code.address) >> 2) as u32
}

const PAGES: u32 = 0xF_FFFF;

#[cfg(test)]
mod tests {
    use super::super::insn::{adrp, branch_to};
    use super::*;

    /// Words with every kind of branch, near and far, forward and back.
    const WORDS: [u32; 12] = [
        0x9400_0003,
        0x17FF_FFF0,
        0x97FF_0000,
        0x5400_0061,
        0x54FF_FFA1,
        0x35FF_FF91,
        0xB400_0042,
        0x3607_F800,
        0xB778_0004,
        0xD65F_03C0,
        0x7100_003F,
        0x0000_0000,
    ];

    #[test]
    fn a_branch_goes_where_its_fields_say() {
        for word in WORDS {
            let expected = branch_to(100, word).map_or(100, |(_, target)| target);
            assert_eq!(branch_target(100, word), expected as u32, "{word:#x}");
        }
    }

    #[test]
    fn a_page_is_the_one_whose_address_is_taken() {
        let bytes = [0u8; 16];
        let code = Code { address: 0x7_1FF4, bytes: &bytes, ..Code::default() };
        for word in [0x9000_0010, 0xB000_0001, 0xD0FF_FFE3, 0xF0AB_CDE4] {
            for index in 0..4 {
                let expected = page_of(&code, adrp(word, code.at(index)));
                assert_eq!(page(index as u32, word, ahead(&code)), expected, "{word:#x}");
            }
        }
    }

    struct Sevens;

    impl Ask for Sevens {
        fn may_matter(&self, _: u32, block: &Block) -> bool {
            any(block, |word| word == 7)
        }
    }

    #[test]
    fn candidates_are_found_wherever_they_stand() {
        let mut bytes = vec![0u8; 4 * 100];
        for place in [0, 31, 32, 63, 98, 99] {
            bytes[place * 4] = 7;
        }
        let code = Code { bytes: &bytes, ..Code::default() };
        let mut seen = Vec::new();
        candidates(&code, 1..99, &Sevens, |index, word| {
            if word == 7 {
                seen.push(index);
            }
        });
        assert_eq!(seen, [31, 32, 63, 98]);
    }
}
