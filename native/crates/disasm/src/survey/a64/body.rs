//! What belongs to a loop: the instructions that can be come to from its first one, and from which
//! its branch back can be come to. Compilers put other code in between.

use super::super::code::Code;
use super::blocks::{packed, set_bits};
use super::insn::{RET, branch_to};
use super::view::Loop;

/// The instructions of a loop, a bit each from its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    start: usize,
    members: u128,
}

/// The most instructions that a set has a bit for.
const MOST: usize = u128::BITS as usize;

impl Body {
    /// `None` if the branch back is not come to from the first instruction: then there is no loop.
    pub fn of(code: &Code<'_>, found: Loop) -> Option<Self> {
        let length = found.len();
        let (words, _) = code.bytes.as_chunks::<4>();
        let words = words.get(found.start..=found.end)?;
        if length > MOST {
            return None;
        }
        let ways = Ways::of(words);
        let last = 1u128 << (length - 1);
        let members = if ways.leaves == last {
            u128::MAX >> (MOST - length) // each falls through to the next: all belong to it
        } else {
            let jumps = ways.jumps();
            let reached = ways.after_first(jumps.all());
            if reached & last == 0 {
                return None;
            }
            reached & ways.before_last(jumps.all())
        };
        Some(Self { start: found.start, members })
    }

    /// Whether an instruction belongs to it.
    pub fn holds(self, index: usize) -> bool {
        let place = index.wrapping_sub(self.start);
        place < MOST && self.members >> place & 1 == 1
    }

    /// The indices of its instructions, in their order in memory.
    pub fn indices(self) -> impl Iterator<Item = usize> + Clone {
        set_bits(self.members).map(move |place| self.start + place)
    }
}

/// How one gets from instruction to instruction inside a loop.
struct Ways<'w> {
    words: &'w [[u8; 4]],
    /// Those that the next one is not come to from, and the last.
    leaves: u128,
    /// Branches with a target.
    branches: u128,
}

impl<'w> Ways<'w> {
    fn of(words: &'w [[u8; 4]]) -> Self {
        let (mut leaves, mut branches) = (0, 0);
        for (k, half) in words.chunks(64).enumerate() {
            let (in_half, branches_in_half) = bits(half);
            leaves |= u128::from(in_half) << (64 * k);
            branches |= u128::from(branches_in_half) << (64 * k);
        }
        Self { words, leaves: leaves | 1 << (words.len() - 1), branches }
    }

    /// From and to, of the branches inside.
    fn jumps(&self) -> Jumps {
        let mut jumps = Jumps { list: [(0, 0); MOST], count: 0 };
        for place in set_bits(self.branches) {
            let target = branch_to(place, u32::from_le_bytes(self.words[place]));
            if let Some((_, target)) = target.filter(|(_, to)| *to < self.words.len()) {
                jumps.list[jumps.count] = (place as u8, target as u8);
                jumps.count += 1;
            }
        }
        jumps
    }

    /// What is come to from the first.
    fn after_first(&self, jumps: &[(u8, u8)]) -> u128 {
        // To the next that leaves.
        let run = |from: u8| {
            let end = u32::from(from) + (self.leaves >> from).trailing_zeros();
            (u128::MAX >> (127 - end)) & (u128::MAX << from)
        };
        let mut reached = run(0);
        loop {
            let before = reached;
            for (from, to) in jumps {
                if reached >> from & 1 == 1 && reached >> to & 1 == 0 {
                    reached |= run(*to);
                }
            }
            if reached == before {
                return reached;
            }
        }
    }

    /// From what the last is come to.
    fn before_last(&self, jumps: &[(u8, u8)]) -> u128 {
        // From behind the one before that leaves.
        let run = |to: u8| {
            let below = self.leaves & !(u128::MAX << to);
            let start = u128::BITS - below.leading_zeros();
            (u128::MAX >> (127 - to)) & (u128::MAX << start)
        };
        let mut reached = run(self.words.len() as u8 - 1);
        loop {
            let before = reached;
            for (from, to) in jumps {
                if reached >> to & 1 == 1 && reached >> from & 1 == 0 {
                    reached |= run(*from);
                }
            }
            if reached == before {
                return reached;
            }
        }
    }
}

struct Jumps {
    list: [(u8, u8); MOST],
    count: usize,
}

impl Jumps {
    fn all(&self) -> &[(u8, u8)] {
        &self.list[..self.count]
    }
}

/// Of at most 64 words: which do not fall through, and which are branches with a target.
fn bits(words: &[[u8; 4]]) -> (u64, u64) {
    let (mut leaves, mut branches) = ([0u8; 64], [0u8; 64]);
    let flags = leaves.iter_mut().zip(&mut branches);
    for ((leaves, branches), word) in flags.zip(words) {
        let word = u32::from_le_bytes(*word);
        let always = word >> 26 == 0b00_0101;
        let returns = (word == RET) | (word & 0xFEFF_F800 == 0xD61F_0000); // or BR
        // B.cond; CBZ, CBNZ, TBZ, TBNZ.
        let may = (word >> 24 == 0x54) | (word & 0x7C00_0000 == 0x3400_0000);
        *leaves = u8::from(always | returns);
        *branches = u8::from(always | may);
    }
    (packed(&leaves), packed(&branches))
}
