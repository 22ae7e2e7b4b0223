//! The columns `c` and `pad`: groups of eleven random digits joined by dashes.

use assay_random::Random;

/// Bytes of `c`: ten groups.
pub const C_BYTES: usize = 10 * (DIGITS + 1) - 1;
/// Bytes of `pad`: five groups.
pub const PAD_BYTES: usize = 5 * (DIGITS + 1) - 1;

const DIGITS: usize = 11;

/// A value of `c`.
pub fn c(random: &mut Random) -> [u8; C_BYTES] {
    groups(random)
}

/// A value of `pad`.
pub fn pad(random: &mut Random) -> [u8; PAD_BYTES] {
    groups(random)
}

fn groups<const BYTES: usize>(random: &mut Random) -> [u8; BYTES] {
    let mut bytes = [b'-'; BYTES];
    for group in bytes.chunks_mut(DIGITS + 1) {
        // One draw gives a whole group.
        let mut number = random.below(10_u64.pow(DIGITS as u32));
        for digit in &mut group[..DIGITS] {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    bytes
}
