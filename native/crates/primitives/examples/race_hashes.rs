//! Times the crates that compute XXH3 on one buffer, in turns.
//!
//! `race_hashes ROUNDS MILLISECONDS BYTES...` writes lines as `race_crc32c` does, in GB/s.

mod common;

use std::hint::black_box;

use assay_primitives::hashes::{Hash, function};
use common::{Contestant, gb_per_s, race};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rounds, time, sizes) = common::arguments()?;
    for bytes in sizes {
        let data: Vec<u8> = (0..bytes).map(|place| (place * 167 / 8) as u8).collect();
        let timed = [Hash::Xxh3Detected, Hash::Xxh3Compiled].map(|hash| {
            let hashed = function(hash);
            let data = &data;
            let run = move || {
                gb_per_s(bytes, time, || {
                    // SAFETY: the slice is readable for its length, and hashes only read.
                    black_box(unsafe { hashed(black_box(data).as_ptr().cast_mut(), bytes) });
                })
            };
            Contestant { name: hash.name(), run: Box::new(run) }
        });
        race(&bytes.to_string(), rounds, &timed)?;
    }
    Ok(())
}
