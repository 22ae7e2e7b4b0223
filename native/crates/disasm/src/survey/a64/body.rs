//! What belongs to a loop: the instructions that can be come to from its first one, and from which
//! its branch back can be come to. Compilers put other code in between.

use super::super::code::Code;
use super::blocks::set_bits;
use super::insn::{Branch, branch_to, is_return_or_jump, may_branch};

/// A loop: the indices of its first instruction and of the branch back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub start: usize,
    pub end: usize,
}

impl Loop {
    /// Whether the index is in it.
    pub fn holds(self, index: usize) -> bool {
        (self.start..=self.end).contains(&index)
    }

    /// In instructions.
    pub fn len(self) -> usize {
        self.end - self.start + 1
    }
}

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
        let last = length - 1;
        let ways = Ways::from_first(words, last);
        (ways.reached >> last & 1 == 1).then(|| {
            let members = ways.reached & ways.before_last();
            Self { start: found.start, members }
        })
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

/// How one gets from instruction to instruction inside a loop, as far as from its first.
struct Ways<'w> {
    words: &'w [[u8; 4]],
    /// The place of the last, which leads out.
    last: usize,
    /// What is come to from the first.
    reached: u128,
    /// Of those, which the next one is not come to from; and the last.
    leaves: u128,
    /// Of those, branches with a target inside.
    branches: u128,
}

impl<'w> Ways<'w> {
    /// Walks on from the first instruction, and from wherever branches lead. Most branches back close
    /// no loop: the walk is over before it comes to them.
    fn from_first(words: &'w [[u8; 4]], last: usize) -> Self {
        let mut ways = Self { words, last, reached: 0, leaves: 1 << last, branches: 0 };
        let mut pending = 1u128;
        while pending != 0 {
            let mut at = pending.trailing_zeros() as usize;
            pending &= pending - 1;
            while ways.reached >> at & 1 == 0 {
                ways.reached |= 1 << at;
                let word = u32::from_le_bytes(words[at]);
                if may_branch(word) {
                    pending |= ways.branch(at, word);
                }
                if ways.leaves >> at & 1 == 1 {
                    break;
                }
                at += 1;
            }
        }
        ways
    }

    /// Notes a branch, if the word is one; the bit of where it leads to inside.
    fn branch(&mut self, at: usize, word: u32) -> u128 {
        if is_return_or_jump(word) {
            self.leaves |= 1 << at;
            return 0;
        }
        let Some((kind, target)) = branch_to(at, word) else { return 0 };
        match kind {
            Branch::Call => return 0,
            Branch::Always => self.leaves |= 1 << at,
            _ => {}
        }
        if target > self.last {
            return 0;
        }
        self.branches |= 1 << at;
        1 << target
    }

    /// From what the last is come to.
    fn before_last(&self) -> u128 {
        // From behind the one before that leaves. What is never come to stands behind such a one.
        let run = |to: usize| {
            let below = self.leaves & !(u128::MAX << to);
            let start = u128::BITS - below.leading_zeros();
            (u128::MAX >> (MOST - 1 - to)) & (u128::MAX << start)
        };
        let mut reached = run(self.last);
        loop {
            let before = reached;
            for from in set_bits(self.branches & !reached) {
                let target = branch_to(from, u32::from_le_bytes(self.words[from]));
                if target.is_some_and(|(_, to)| reached >> to & 1 == 1) {
                    reached |= run(from);
                }
            }
            if reached == before {
                return reached;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOP: u32 = 0xD503_201F;
    const RET: u32 = 0xD65F_03C0;
    const CALL: u32 = 0x9400_0001;

    fn conditional(distance: i32) -> u32 {
        0x5400_0000 | (distance.cast_unsigned() & 0x7_FFFF) << 5
    }

    fn always(distance: i32) -> u32 {
        0x1400_0000 | distance.cast_unsigned() & 0x3FF_FFFF
    }

    /// Where one gets to from an instruction inside, by the manual's words.
    fn next(words: &[u32], at: usize) -> Vec<usize> {
        let branch = branch_to(at, words[at]).filter(|(kind, _)| *kind != Branch::Call);
        let falls = !is_return_or_jump(words[at]) && !matches!(branch, Some((Branch::Always, _)));
        let mut found = Vec::from_iter(falls.then_some(at + 1));
        found.extend(branch.map(|(_, target)| target));
        found.retain(|place| *place < words.len());
        found
    }

    /// What can be come to, by trying every step again and again; the last leads out.
    fn all_after(words: &[u32], from: usize) -> Vec<bool> {
        let mut seen = vec![false; words.len()];
        seen[from] = true;
        for _ in 0..words.len() {
            for at in (0..words.len() - 1).filter(|at| seen[*at]).collect::<Vec<_>>() {
                next(words, at).into_iter().for_each(|place| seen[place] = true);
            }
        }
        seen
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_body_is_what_lies_on_a_way_from_the_first_to_the_last(
            kinds in prop::collection::vec((0..6u8, -70..70i32), 1..64),
        ) {
            let mut words: Vec<u32> = kinds
                .into_iter()
                .map(|(kind, distance)| match kind {
                    0 => conditional(distance),
                    1 => always(distance),
                    2 => RET,
                    3 => CALL,
                    _ => NOP,
                })
                .collect();
            let end = words.len();
            words.push(conditional(-i32::try_from(end).unwrap()));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let code = Code { bytes: &bytes, ..Code::default() };
            let after = all_after(&words, 0);
            let slow: Vec<usize> =
                (0..=end).filter(|at| after[*at] && all_after(&words, *at)[end]).collect();
            let fast = Body::of(&code, Loop { start: 0, end });
            let fast = fast.map_or(Vec::new(), |body| body.indices().collect());
            prop_assert_eq!(fast, slow);
        }
    }
}
