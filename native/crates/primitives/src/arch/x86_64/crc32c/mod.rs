//! CRC32C by the SSE4.2 `crc32` instruction, by carry-less multiplication, and by both at once.
//!
//! Folding (`pclmul`, `vpclmul`) is linear in memory and the best choice beyond the caches, where
//! interleaved streams lose. In the caches `fusion` is fastest: the two kinds of instruction run in
//! different units of the core.

mod fusion;
mod hardware;
mod pclmul;
mod streams;
mod vpclmul;

use std::arch::is_x86_feature_detected;

use crate::arch::all::crc32c::Support;
use crate::crc32c::{Crc32cLevel, Function};

/// From how many bytes on a level is the best choice; of those a CPU has, the first that fits.
/// Measured on a Zen 4 (docs/native.md).
pub const PREFERENCE: [(usize, Crc32cLevel); 6] = [
    (16 << 20, Crc32cLevel::Vpclmul),
    (16 << 20, Crc32cLevel::Pclmul),
    (16 << 10, Crc32cLevel::Fusion),
    (256, Crc32cLevel::Vpclmul),
    (768, Crc32cLevel::Hardware3way),
    (0, Crc32cLevel::Hardware),
];

/// A level of another instruction set: a dispatch that asks for it is wrong here.
pub const FOREIGN: Crc32cLevel = Crc32cLevel::Pmull;

/// What this CPU has for a level.
pub fn support(level: Crc32cLevel) -> Support {
    let has_crc32 = is_x86_feature_detected!("sse4.2");
    let has_pclmul = is_x86_feature_detected!("pclmulqdq");
    let has_avx512 = is_x86_feature_detected!("avx512f");
    let has_vpclmul = is_x86_feature_detected!("vpclmulqdq");
    let (function, needs): (Function, &[(bool, &'static str)]) = match level {
        Crc32cLevel::Hardware => (hardware::assay_crc32c_hardware, &[]),
        Crc32cLevel::Hardware3way => {
            (streams::assay_crc32c_hardware_3way, &[(has_pclmul, "pclmulqdq")])
        }
        Crc32cLevel::Pclmul => (pclmul::assay_crc32c_pclmul, &[(has_pclmul, "pclmulqdq")]),
        Crc32cLevel::Vpclmul => {
            (vpclmul::assay_crc32c_vpclmul, &[(has_avx512, "avx512f"), (has_vpclmul, "vpclmulqdq")])
        }
        Crc32cLevel::Fusion => (
            fusion::assay_crc32c_fusion,
            &[(has_pclmul, "pclmulqdq"), (has_avx512, "avx512f"), (has_vpclmul, "vpclmulqdq")],
        ),
        _ => return Support::Foreign,
    };
    let missing = [(has_crc32, "sse4_2")]
        .into_iter()
        .chain(needs.iter().copied())
        .find(|(is_here, _)| !is_here);
    missing.map_or(Support::Here(function), |(_, feature)| Support::Lacking(feature))
}
