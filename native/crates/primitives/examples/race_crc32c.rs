//! Times every CRC32C level, the crates crc-fast and crc32c, and ISA-L where it is installed, on
//! one buffer, in turns.
//!
//! `race_crc32c ROUNDS MILLISECONDS BYTES...` writes one JSON line per size, round and contestant:
//! `{"case", "round", "name", "value"}`: the size, and the value in GB/s. Names are those of the
//! levels, `auto` for the choice of the dispatch, the crates', and `isa-l`. The order inside a round
//! rotates. benchmarks/primitives.py reads it and decides.

mod common;

use std::hint::black_box;

use assay_primitives::{Crc32c, Crc32cLevel};
use common::{Contestant, gb_per_s, race};

type Checksum = Box<dyn Fn(&[u8]) -> u32>;

/// ISA-L's function: it takes and gives the state, not the checksum.
type Iscsi = unsafe extern "C" fn(*const u8, libc::c_int, u32) -> u32;

/// ISA-L's CRC32C, if its library can be loaded (Debian's libisal2).
fn isa_l() -> Option<Checksum> {
    // SAFETY: names are terminated strings; loading the library runs its constructors, which only
    // look at the CPU. It is never unloaded.
    let found = unsafe {
        let library = libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return None;
        }
        libc::dlsym(library, c"crc32_iscsi".as_ptr())
    };
    if found.is_null() {
        return None;
    }
    // SAFETY: this is the function's type in ISA-L's crc.h (its buffer is not written).
    let iscsi: Iscsi = unsafe { core::mem::transmute::<*mut libc::c_void, Iscsi>(found) };
    // SAFETY: the slice is readable for its length; the sizes raced are far below 2 GiB.
    Some(Box::new(move |data| !unsafe { iscsi(data.as_ptr(), data.len() as libc::c_int, !0) }))
}

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
    found.extend(isa_l().map(|checksum| ("isa-l", checksum)));
    Ok(found)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rounds, time, sizes) = common::arguments()?;
    for bytes in sizes {
        let data: Vec<u8> = (0..bytes).map(|place| (place * 167 / 8) as u8).collect();
        let contestants = contestants(bytes)?;
        let expected = contestants[0].1(&data);
        for (name, checksum) in &contestants {
            if checksum(&data) != expected {
                return Err(format!("{name} computes something else").into());
            }
        }
        let timed = contestants.iter().map(|(name, checksum)| {
            let run = || {
                gb_per_s(bytes, time, || {
                    black_box(checksum(black_box(&data)));
                })
            };
            Contestant { name, run: Box::new(run) }
        });
        race(&bytes.to_string(), rounds, &timed.collect::<Vec<_>>())?;
    }
    Ok(())
}
