//! Times every CRC32C level and the crates crc-fast and crc32c on one buffer, in turns.
//!
//! `race_crc32c ROUNDS MILLISECONDS BYTES...` writes one JSON line per size, round and contestant:
//! `{"bytes", "round", "name", "gb_per_s"}`. Names are those of the levels, `auto` for the choice of
//! the dispatch, and the crates'. The order inside a round rotates. benchmarks/primitives.py reads
//! it and decides.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use assay_primitives::{Crc32c, Crc32cLevel};
use serde_json::json;

/// Bytes between two looks at the clock.
const CHUNK: usize = 1 << 20;

type Checksum = Box<dyn Fn(&[u8]) -> u32>;

fn contestants(bytes: usize) -> Result<Vec<(&'static str, Checksum)>, Box<dyn std::error::Error>> {
    let mut found: Vec<(&'static str, Checksum)> = Vec::new();
    for level in Crc32cLevel::ALL {
        if let Ok(crc32c) = Crc32c::new(level) {
            found.push((level.name(), Box::new(move |data| crc32c.checksum(data))));
        }
    }
    let best = Crc32c::new(Crc32cLevel::best(bytes))?;
    found.push(("auto", Box::new(move |data| best.checksum(data))));
    let iscsi = crc_fast::CrcAlgorithm::Crc32Iscsi;
    found.push(("crc-fast", Box::new(move |data| crc_fast::checksum(iscsi, data) as u32)));
    found.push(("crc32c", Box::new(crc32c::crc32c)));
    Ok(found)
}

fn gb_per_s(checksum: &Checksum, data: &[u8], time: Duration) -> f64 {
    let calls = (CHUNK / data.len()).max(1);
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < time {
        for _ in 0..calls {
            black_box(checksum(black_box(data)));
        }
        done += calls;
    }
    (done * data.len()) as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Result<Vec<usize>, _> =
        std::env::args().skip(1).map(|one| one.parse()).collect();
    let arguments = arguments?;
    let [rounds, milliseconds, sizes @ ..] = arguments.as_slice() else {
        return Err("race_crc32c ROUNDS MILLISECONDS BYTES...".into());
    };
    let time = Duration::from_millis(*milliseconds as u64);
    let mut output = std::io::stdout().lock();
    for &bytes in sizes {
        let data: Vec<u8> = (0..bytes).map(|place| (place * 167 / 8) as u8).collect();
        let contestants = contestants(bytes)?;
        let expected = contestants[0].1(&data);
        for round in 0..*rounds {
            for turn in 0..contestants.len() {
                let (name, checksum) = &contestants[(turn + round) % contestants.len()];
                if checksum(&data) != expected {
                    return Err(format!("{name} computes something else").into());
                }
                let gb_per_s = gb_per_s(checksum, &data, time);
                let line = json!({
                    "bytes": bytes, "round": round, "name": name, "gb_per_s": gb_per_s,
                });
                writeln!(output, "{line}")?;
            }
        }
    }
    Ok(())
}
