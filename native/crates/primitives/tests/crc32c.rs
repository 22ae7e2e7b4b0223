//! Every CRC32C level against the bytewise one, over seeds padded through sizes and alignments.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use assay_primitives::{Crc32c, Crc32cLevel};

const SEEDS: [&[u8]; 5] = [b"", b"a", b"123456789", &[0; 64], &[0xFF; 65]];
/// Enough to cross every step of eight bytes many times.
const PADDING_MAX: usize = 260;
const ALIGNMENTS: usize = 9;

fn each_level(test: impl Fn(Crc32c)) {
    // A level that the CPU lacks says so instead of computing something else.
    Crc32cLevel::ALL.into_iter().filter_map(|level| Crc32c::new(level).ok()).for_each(test);
}

#[test]
fn the_check_value_is_that_of_castagnoli() {
    each_level(|crc32c| {
        assert_eq!(crc32c.checksum(b"123456789"), 0xE306_9283, "{:?}", crc32c.level());
        assert_eq!(crc32c.checksum(b""), 0, "{:?}", crc32c.level());
    });
}

#[test]
fn every_level_agrees_with_the_bytewise_one() {
    let twin = Crc32c::new(Crc32cLevel::Bytewise).unwrap();
    each_level(|crc32c| {
        for seed in SEEDS {
            for padding in 0..PADDING_MAX {
                let alignment = padding % ALIGNMENTS;
                let mut bytes = vec![0; alignment];
                bytes.extend_from_slice(seed);
                bytes.extend((0..padding).map(|place| (place * 7 + seed.len()) as u8));
                let data = &bytes[alignment..];
                assert_eq!(
                    crc32c.checksum(data),
                    twin.checksum(data),
                    "{:?}, seed {seed:?}, padding {padding}",
                    crc32c.level()
                );
            }
        }
    });
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
