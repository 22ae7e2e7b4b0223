//! Every CRC32C level against the bytewise one, over sizes, alignments and contents.

use assay_primitives::{Crc32c, Crc32cChoice, Crc32cLevel, PrimitiveError};

/// Crosses every step of 8, 64 and 256 bytes, and the first short block of three streams.
const LENGTHS_ALL: usize = 1100;
const ALIGNMENTS: [usize; 6] = [0, 1, 7, 8, 33, 63];
/// Around the long block of three streams, both blocks of the fusion, and more than one of each.
const LENGTHS_LONG: [usize; 12] =
    [4079, 4080, 4081, 8191, 14_079, 14_080, 16_384, 90_112, 100_003, 278_528, 1 << 20, 1_500_001];

fn each_level(test: impl Fn(Crc32c)) {
    // A level that the CPU lacks says so instead of computing something else.
    Crc32cLevel::ALL.into_iter().filter_map(|level| Crc32c::new(level).ok()).for_each(test);
}

/// SplitMix64, byte by byte.
fn random_bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_check_value_is_that_of_castagnoli() {
    each_level(|crc32c| {
        assert_eq!(crc32c.checksum(b"123456789"), 0xE306_9283, "{:?}", crc32c.level());
        assert_eq!(crc32c.checksum(b""), 0, "{:?}", crc32c.level());
        // RFC 3720, B.4.
        assert_eq!(crc32c.checksum(&[0; 32]), 0x8A91_36AA, "{:?}", crc32c.level());
        assert_eq!(crc32c.checksum(&[0xFF; 32]), 0x62A8_AB43, "{:?}", crc32c.level());
    });
}

#[test]
fn every_level_agrees_with_the_bytewise_one_at_every_short_length() {
    let twin = Crc32c::new(Crc32cLevel::Bytewise).unwrap();
    let bytes = random_bytes(LENGTHS_ALL + 64, 1);
    for length in 0..LENGTHS_ALL {
        let from = ALIGNMENTS[length % ALIGNMENTS.len()];
        let data = &bytes[from..from + length];
        let expected = twin.checksum(data);
        each_level(|crc32c| {
            assert_eq!(crc32c.checksum(data), expected, "{:?}, {length}", crc32c.level());
        });
    }
}

#[test]
fn every_level_agrees_with_the_bytewise_one_at_every_alignment_and_around_every_block() {
    let twin = Crc32c::new(Crc32cLevel::Bytewise).unwrap();
    let bytes = random_bytes(LENGTHS_LONG[LENGTHS_LONG.len() - 1] + 64, 2);
    for length in LENGTHS_LONG {
        for from in ALIGNMENTS {
            let data = &bytes[from..from + length];
            let expected = twin.checksum(data);
            each_level(|crc32c| {
                assert_eq!(crc32c.checksum(data), expected, "{:?}, {length}", crc32c.level());
            });
        }
    }
}

/// A CRC is linear: each single bit of a message changes it, wherever the bit is.
#[test]
fn every_level_sees_every_bit() {
    let twin = Crc32c::new(Crc32cLevel::Bytewise).unwrap();
    for length in [63, 255, 256, 511, 777] {
        let mut data = vec![0; length];
        for bit in 0..8 * length {
            data[bit / 8] = 1 << (bit % 8);
            let expected = twin.checksum(&data);
            each_level(|crc32c| {
                assert_eq!(crc32c.checksum(&data), expected, "{:?}, bit {bit}", crc32c.level());
            });
            data[bit / 8] = 0;
        }
    }
}

#[test]
fn the_levels_are_different_functions() {
    let mut addresses = Vec::new();
    for level in Crc32cLevel::ALL {
        addresses.extend(Crc32c::new(level).ok().map(|crc32c| crc32c.address()));
    }
    let count = addresses.len();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), count);
}

#[test]
fn a_right_dispatch_takes_what_this_cpu_has_and_the_wrong_one_the_slowest() {
    for length in [0, 1, 300, 4096, 20_000, 1 << 20, 1 << 28] {
        Crc32c::new(Crc32cChoice::Auto.level(length)).unwrap();
        assert_eq!(Crc32cChoice::Misdispatched.level(length), Crc32cLevel::Bytewise);
        assert_eq!(Crc32cChoice::Forced(Crc32cLevel::Fusion).level(length), Crc32cLevel::Fusion);
    }
}

#[test]
fn a_level_of_another_architecture_is_missing() {
    let foreign =
        if cfg!(target_arch = "x86_64") { Crc32cLevel::Pmull } else { Crc32cLevel::Vpclmul };
    let refused = Crc32c::new(foreign).unwrap_err();
    assert!(matches!(refused, PrimitiveError::Missing { .. }));
    assert!(refused.to_string().contains(foreign.name()), "{refused}");
}
