//! The multipliers by which carry-less multiplication moves a CRC over a distance.
//!
//! A bit string that is followed by `n` more bits stands for its polynomial times `x^n`, modulo
//! `P`. All values are bit-reflected: the highest bit of a word is the coefficient of `x^0`.
//! Source: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009.

use super::POLYNOMIAL;

/// `x^bits mod P`, reflected and shifted by one: what the product of two reflected words lacks.
pub const fn power(bits: u64) -> u64 {
    // Square and multiply, from the highest bit of the exponent; `1 << 31` is x^0.
    let mut power = 1_u32 << 31;
    let mut place = 64 - bits.leading_zeros();
    while place > 0 {
        place -= 1;
        power = product(power, power);
        if bits >> place & 1 == 1 {
            power = times_x(power);
        }
    }
    (power as u64) << 1
}

/// The multipliers that move 128 bits forward by `bits`: for their low and their high half.
pub const fn fold(bits: u64) -> [u64; 2] {
    [power(bits + 32), power(bits - 32)]
}

/// The multiplier that moves a 32-bit state forward by `bytes`, where the CRC32C instruction
/// takes the 64-bit product in and thereby moves it by the last 32 bits.
pub const fn shift(bytes: usize) -> u64 {
    power(8 * bytes as u64 - 32)
}

const fn times_x(value: u32) -> u32 {
    (value >> 1) ^ if value & 1 == 1 { POLYNOMIAL } else { 0 }
}

const fn product(left: u32, right: u32) -> u32 {
    let (mut sum, mut shifted, mut place) = (0, right, 32);
    while place > 0 {
        place -= 1;
        if left >> place & 1 == 1 {
            sum ^= shifted;
        }
        shifted = times_x(shifted);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{POLYNOMIAL, power, times_x};

    #[test]
    fn powers_are_those_of_stepping_bit_by_bit() {
        let mut naive = 1_u32 << 31;
        for bits in 0..3000 {
            assert_eq!(power(bits), u64::from(naive) << 1, "x^{bits}");
            naive = times_x(naive);
        }
        assert_eq!(power(32), u64::from(POLYNOMIAL) << 1);
    }
}
