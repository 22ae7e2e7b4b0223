//! What belongs to a loop: the instructions that can be come to from its first one, and from which
//! its branch back can be come to. Compilers put other code in between.

use super::super::code::Code;
use super::insn::{Branch, RET, branch_to};
use super::view::Loop;

/// The instructions of a loop, a bit each from its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    start: usize,
    members: u128,
}

impl Body {
    /// `None` if the branch back is not come to from the first instruction: then there is no loop.
    pub fn of(code: &Code<'_>, found: Loop) -> Option<Self> {
        let length = found.len();
        if length > 128 {
            return None;
        }
        let mut next = [0u128; 128];
        for (place, ways) in next.iter_mut().enumerate().take(length) {
            let index = found.start + place;
            let word = code.word(index);
            let (falls, target) = match branch_to(index, word) {
                Some((Branch::Call, _)) => (true, None),
                Some((Branch::Always, target)) => (false, Some(target)),
                Some((_, target)) => (true, Some(target)),
                None => (word != RET && word & 0xFEFF_F800 != 0xD61F_0000, None),
            };
            let inside = |index: usize| {
                if found.holds(index) { 1u128 << (index - found.start) } else { 0 }
            };
            *ways = if falls { inside(index + 1) } else { 0 } | target.map_or(0, inside);
        }
        let last = 1u128 << (length - 1);
        let from_start = forward(&next, length);
        if from_start & last == 0 {
            return None;
        }
        let to_last = backward(last, &next, length);
        Some(Self { start: found.start, members: from_start & to_last })
    }

    /// Whether an instruction belongs to it.
    pub fn holds(self, index: usize) -> bool {
        let place = index.wrapping_sub(self.start);
        place < 128 && self.members >> place & 1 == 1
    }

    /// The indices of its instructions, in their order in memory.
    pub fn indices(self) -> impl Iterator<Item = usize> + Clone {
        (0..128).filter(move |place| self.members >> place & 1 == 1).map(move |k| self.start + k)
    }
}

fn forward(next: &[u128; 128], length: usize) -> u128 {
    let mut reached = 1;
    loop {
        let before = reached;
        for (place, ways) in next.iter().enumerate().take(length) {
            if reached >> place & 1 == 1 {
                reached |= ways;
            }
        }
        if reached == before {
            return reached;
        }
    }
}

fn backward(last: u128, next: &[u128; 128], length: usize) -> u128 {
    let mut reached = last;
    loop {
        let before = reached;
        for place in (0..length).rev() {
            if next[place] & reached != 0 {
                reached |= 1 << place;
            }
        }
        if reached == before {
            return reached;
        }
    }
}
