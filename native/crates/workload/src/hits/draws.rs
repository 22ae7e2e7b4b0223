//! Random numbers by address: of a seed, a purpose and a number, without those before.

use assay_random::split_mix;

/// What is drawn, so that no two draws of a row are the same.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    SessionStart = 1,
    Session,
    Hit,
    User,
    UserId,
    Address,
    Watch,
    Hash,
    Section,
    Phrase,
}

/// The random numbers of one address.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let mut seeded = seed ^ (purpose as u64) << 56;
        let mut state = split_mix(&mut seeded) ^ number;
        Self(split_mix(&mut state))
    }

    #[inline]
    pub fn bits(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// Uniform in [0, bound), by multiplication.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A rank from 2^`first` to below 2^(`last` + 1): every octave is as likely as another, which is
    /// close to Zipf with exponent one, and exact on every machine.
    pub fn rank(&mut self, first: u64, last: u64) -> u64 {
        let octave = 1 << (first + self.below(last - first + 1));
        octave + self.below(octave)
    }

    /// The place in a list of shares out of `all`; none for what they leave.
    pub fn share(&mut self, shares: impl IntoIterator<Item = u64>, all: u64) -> Option<usize> {
        let mut left = self.below(all);
        for (place, share) in shares.into_iter().enumerate() {
            if left < share {
                return Some(place);
            }
            left -= share;
        }
        None
    }
}
