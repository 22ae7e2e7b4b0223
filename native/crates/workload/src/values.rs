//! Field values: random printable bytes that can prove they are whole.
//!
//! YCSB fills each field with random printable bytes. Here the values come from a pool drawn once,
//! so that drawing them is not part of an operation, and each ends in eight hexadecimal digits that
//! are a hash of the bytes before. A field that two writers tore apart, or that was copied while
//! being written, fails the check; random bytes alone could not tell. Fields shorter than
//! `CHECKED_BYTES` carry no hash and are only checked for printable bytes.

use crate::hash::fnv1a_64;
use assay_random::Random;

/// Distinct values in the pool.
const POOL: usize = 1024;
/// The shortest field that carries its own hash.
pub const CHECKED_BYTES: usize = 16;
const DIGITS: usize = 8;
const PURPOSE: u64 = 0x7661_6C75_6573;

/// The pool of field values of one run.
#[derive(Debug)]
pub struct Values {
    bytes: Vec<u8>,
    field_bytes: usize,
}

impl Values {
    /// A pool of values of `field_bytes` bytes each.
    pub fn new(seed: u64, field_bytes: usize) -> Self {
        let mut random = Random::new(seed, PURPOSE);
        let mut bytes = vec![0; POOL * field_bytes];
        for value in bytes.chunks_exact_mut(field_bytes.max(1)) {
            fill(value, &mut random);
        }
        Self { bytes, field_bytes }
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        POOL
    }

    /// One value.
    #[inline(always)]
    pub fn value(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.field_bytes..(index + 1) * self.field_bytes]
    }

    /// The value with which field `field` of a new record starts.
    #[inline]
    pub fn initial(&self, key: u64, field: usize) -> &[u8] {
        self.value((key >> 8).wrapping_add(field as u64 * 131) as usize % POOL)
    }
}

/// Whether bytes are one whole value, not a mixture of two.
pub fn is_whole(value: &[u8]) -> bool {
    if value.len() < CHECKED_BYTES {
        return value.iter().all(|byte| (b' '..=b'~').contains(byte));
    }
    let (body, digits) = value.split_at(value.len() - DIGITS);
    digits == hash_digits(body)
}

fn fill(value: &mut [u8], random: &mut Random) {
    for byte in value.iter_mut() {
        *byte = b' ' + random.below(95) as u8;
    }
    if value.len() >= CHECKED_BYTES {
        let at = value.len() - DIGITS;
        let digits = hash_digits(&value[..at]);
        value[at..].copy_from_slice(&digits);
    }
}

fn hash_digits(body: &[u8]) -> [u8; DIGITS] {
    let (words, rest) = body.as_chunks::<8>();
    let tail = rest.iter().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
    let mut hash = words.iter().fold(tail, |hash, word| {
        (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    });
    hash = fnv1a_64(hash);
    std::array::from_fn(|place| b"0123456789abcdef"[(hash >> (4 * place)) as usize & 15])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_whole_and_a_mixture_is_not() {
        for field_bytes in [1, 15, 16, 17, 100] {
            let values = Values::new(7, field_bytes);
            assert!((0..values.count()).all(|index| is_whole(values.value(index))));
        }
        let values = Values::new(7, 100);
        let mut torn = values.value(0).to_vec();
        torn[..50].copy_from_slice(&values.value(1)[..50]);
        assert!(!is_whole(&torn));
    }
}
