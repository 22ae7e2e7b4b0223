//! FNV-1a, 64 bits, the way YCSB hashes key numbers and scrambles ranks.
//!
//! Eight octets, low byte first; for each, exclusive or and then a wrapping multiplication; at the
//! end the absolute value of the signed result. Source: YCSB `Utils.fnvhash64` (whose comment says
//! FNV, while its order of operations is FNV-1a).

const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 1_099_511_628_211;

/// YCSB's 64-bit hash of a number. Java's `abs` leaves the smallest negative number as it is, which
/// would give a negative key; it becomes 2^63 here, which no other input gives.
#[inline]
pub fn fnv1a_64(number: u64) -> u64 {
    let hashed = number
        .to_le_bytes()
        .iter()
        .fold(OFFSET_BASIS, |hash, &octet| (hash ^ u64::from(octet)).wrapping_mul(PRIME));
    hashed.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::fnv1a_64;

    /// Computed with an independent implementation from YCSB's definition.
    #[test]
    fn known_numbers_hash_to_known_keys() {
        for (number, key) in [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
        ] {
            assert_eq!(fnv1a_64(number), key, "key number {number}");
        }
    }
}
