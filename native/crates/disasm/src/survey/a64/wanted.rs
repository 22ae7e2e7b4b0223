//! A set of addresses that is asked about every branch of a program: nearly always the answer is no.

use std::collections::BTreeSet;

/// Addresses, with a bit for each in a small table that most others have no bit in.
#[derive(Debug)]
pub struct Wanted {
    sorted: Vec<u64>,
    bits: Vec<u64>,
    shift: u32,
}

/// Bits of the table for each address, and of the largest.
const SPARSE: usize = 32;
const LARGEST: usize = 1 << 18;

impl Wanted {
    /// Of addresses that are multiples of `1 << shift`, mostly.
    pub fn new(addresses: impl IntoIterator<Item = u64>, shift: u32) -> Self {
        let sorted: Vec<u64> = addresses.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let size = (sorted.len() * SPARSE).next_power_of_two().clamp(64, LARGEST);
        let mut wanted = Self { bits: vec![0; size / 64], sorted, shift };
        for k in 0..wanted.sorted.len() {
            let (word, bit) = wanted.place(wanted.sorted[k]);
            wanted.bits[word] |= bit;
        }
        wanted
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + Clone {
        self.sorted.iter().copied()
    }

    /// Whether it may be; never no for one of them.
    #[inline(always)]
    pub fn may_contain(&self, address: u64) -> bool {
        let (word, bit) = self.place(address);
        self.bits[word] & bit != 0
    }

    /// Whether the address is one of them.
    #[inline]
    pub fn contains(&self, address: u64) -> bool {
        self.may_contain(address) && self.sorted.binary_search(&address).is_ok()
    }

    #[inline(always)]
    fn place(&self, address: u64) -> (usize, u64) {
        let hash = address >> self.shift;
        ((hash >> 6) as usize & (self.bits.len() - 1), 1 << (hash & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_put_in_is_in() {
        let wanted = Wanted::new([0x1000, 0x1004, u64::MAX, 0x1001], 2);
        let far = 0x1000 + (LARGEST as u64) * 4; // the same bit
        let asked = [0x1000, 0x1001, 0x1002, 0x1004, 0x1008, far, u64::MAX, 0];
        let inside: Vec<u64> = asked.into_iter().filter(|a| wanted.contains(*a)).collect();
        assert_eq!(inside, [0x1000, 0x1001, 0x1004, u64::MAX]);
    }
}
