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
    /// All bits for each word that may matter, or none; `start` is the index of the first, modulo
    /// 2^32.
    fn hits(&self, start: u32, block: &Block) -> Block;
}

/// Of every block.
pub struct Every;

impl Ask for Every {
    #[inline(always)]
    fn hits(&self, _: u32, _: &Block) -> Block {
        [u32::MAX; BLOCK]
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
    /// Gives `each` the words in `part` that may matter: their indices and values, in order.
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
        let mut bits = bits(&ask.hits(start as u32, &block));
        while bits != 0 {
            let place = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            each(start + place, block[place]);
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

/// A bit for each hit.
#[inline(always)]
fn bits(hits: &Block) -> u32 {
    hits.iter().zip(0..).fold(0, |bits, (hit, place)| bits | (hit & 1) << place)
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

/// Adds a hit where a value is one of the known.
#[inline(always)]
fn add(hits: &mut Block, values: &Block, known: impl Iterator<Item = u32>) {
    for known in known {
        for (hit, value) in hits.iter_mut().zip(values) {
            *hit |= mask(*value == known);
        }
    }
}

/// All bits or none.
#[inline(always)]
pub fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// Bits of a word before the distance of B and BL, in words.
const BEFORE_JUMP: u32 = 6;
/// Bits before the 14 that the distance of every other branch has, and its place.
const BEFORE_NEAR: u32 = 18;
const NEAR_AT: u32 = 5;

/// The index that a word goes to if it is B or BL, modulo 2^26, in the upper bits.
#[inline(always)]
pub fn jump(index: u32, word: u32) -> u32 {
    index.wrapping_add(word) << BEFORE_JUMP
}

/// What `jump` gives for a jump to an index.
pub fn jump_to(index: u32) -> u32 {
    index << BEFORE_JUMP
}

/// Adds words that may be branches of any kind to one of these indices; none that is one is left
/// out. Of other words one in 16384 is added for each of them.
#[inline(always)]
pub fn add_branches(hits: &mut Block, start: u32, block: &Block, targets: &[u32]) {
    let near = |index: u32, word: u32| index.wrapping_add(word >> NEAR_AT) << BEFORE_NEAR;
    add(hits, &each(start, block, jump), targets.iter().map(|target| jump_to(*target)));
    add(hits, &each(start, block, near), targets.iter().map(|target| target << BEFORE_NEAR));
}

/// Pages whose address code takes by ADRP, and where the code begins in its first page.
pub struct Pages {
    /// Counted from the code's first page.
    numbers: Vec<u32>,
    /// Words before the code.
    ahead: u32,
}

/// All of ADRP but its register, and the highest bit of the distance: pages modulo 2^20.
const ADRP: u32 = !0x0080_001F;

impl Pages {
    /// Of these addresses.
    pub fn of(code: &Code<'_>, addresses: impl Iterator<Item = u64>) -> Self {
        let number = |address: u64| (address >> 12).wrapping_sub(code.address >> 12) as u32;
        Self { numbers: addresses.map(number).collect(), ahead: (code.address as u32 & 0xFFF) >> 2 }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Adds words that may take the address of one of them; none that does is left out.
    #[inline(always)]
    pub fn add_taken(&self, hits: &mut Block, start: u32, block: &Block) {
        let page = |index: u32| index.wrapping_add(self.ahead) >> 10;
        let (first, last) = (page(start), page(start.wrapping_add(BLOCK as u32 - 1)));
        let words = each(start, block, |_, word| word & ADRP);
        let from =
            |page: u32| self.numbers.iter().map(move |number| adrp(number.wrapping_sub(page)));
        add(hits, &words, from(first));
        if first != last {
            add(hits, &words, from(last));
        }
    }
}

/// ADRP of a page so far ahead, without its register.
#[inline(always)]
fn adrp(distance: u32) -> u32 {
    0x9000_0000 | (distance & 3) << 29 | (distance >> 2 & 0x3_FFFF) << 5
}

/// The index of an address, modulo 2^32.
pub fn index_of(code: &Code<'_>, address: u64) -> u32 {
    (address.wrapping_sub(code.address) >> 2) as u32
}

#[cfg(test)]
mod tests {
    use super::super::insn::{self, Branch};
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

    /// A block of words that do nothing but one.
    fn block(word: u32, place: usize) -> Block {
        let mut block = [insn::NOP; BLOCK];
        block[place] = word;
        block
    }

    #[test]
    fn a_branch_to_a_wanted_place_is_never_missed() {
        for (start, word) in WORDS.into_iter().flat_map(|word| [(0, word), (70_000, word)]) {
            for place in [0, 7, 31] {
                let Some((kind, target)) = insn::branch_to(start + place, word) else { continue };
                let (block, start, target) = (block(word, place), start as u32, target as u32);
                let hits = |targets: &[u32]| {
                    let mut hits = [0; BLOCK];
                    add_branches(&mut hits, start, &block, targets);
                    bits(&hits)
                };
                assert_eq!(hits(&[9, target]), 1 << place, "{word:#x}");
                assert_eq!(hits(&[target ^ 4]), 0, "{word:#x}");
                if matches!(kind, Branch::Call | Branch::Always) {
                    assert_eq!(jump(start + place as u32, word), jump_to(target), "{word:#x}");
                }
            }
        }
    }

    #[test]
    fn a_page_whose_address_is_taken_is_never_missed() {
        let bytes = [0u8; 16];
        let code = Code { address: 0x7_1FF4, bytes: &bytes, ..Code::default() };
        for word in [0x9000_0010, 0xB000_0001, 0xD0FF_FFE3, 0xF0AB_CDE4] {
            for (start, place) in [(0, 0), (0, 2), (0, 3), (0, 31), (1010, 5), (1024, 31)] {
                let address = insn::adrp(word, code.at(start + place));
                let (block, start) = (block(word, place), start as u32);
                let hits = |address: u64| {
                    let mut hits = [0; BLOCK];
                    Pages::of(&code, [0, address].into_iter()).add_taken(&mut hits, start, &block);
                    bits(&hits)
                };
                assert_eq!(hits(address), 1 << place, "{word:#x} at {place}");
                assert_eq!(hits(address ^ 0x8000), 0, "{word:#x}");
            }
        }
    }

    struct Sevens;

    impl Ask for Sevens {
        fn hits(&self, start: u32, block: &Block) -> Block {
            each(start, block, |_, word| mask(word == 7))
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
        candidates(&code, 1..97, &Sevens, |index, _| seen.push(index));
        assert_eq!(seen, [31, 32, 63]);
        candidates(&code, 95..99, &Sevens, |index, _| seen.push(index));
        assert_eq!(seen[3..], [95, 96, 97, 98], "of less than a block all");
    }
}
