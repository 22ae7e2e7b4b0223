//! CRC32C by the Armv8 `crc32c` instructions and by the polynomial multiplication PMULL.

mod hardware;
mod pmull;
mod streams;

use std::arch::is_aarch64_feature_detected;

use crate::arch::all::crc32c::Support;
use crate::crc32c::{Crc32cLevel, Function};

/// From how many bytes on a level is the best choice; of those a CPU has, the first that fits.
/// The thresholds are taken over from x86-64: no Arm host has measured them yet.
pub const PREFERENCE: [(usize, Crc32cLevel); 3] =
    [(16 << 20, Crc32cLevel::Pmull), (768, Crc32cLevel::Hardware3way), (0, Crc32cLevel::Hardware)];

/// A level of another instruction set: a dispatch that asks for it is wrong here.
pub const FOREIGN: Crc32cLevel = Crc32cLevel::Pclmul;

/// What this CPU has for a level.
pub fn support(level: Crc32cLevel) -> Support {
    let has_pmull = is_aarch64_feature_detected!("pmull");
    let (function, needs): (Function, &[(bool, &'static str)]) = match level {
        Crc32cLevel::Hardware => (hardware::assay_crc32c_hardware, &[]),
        Crc32cLevel::Hardware3way => (streams::assay_crc32c_hardware_3way, &[(has_pmull, "pmull")]),
        Crc32cLevel::Pmull => (pmull::assay_crc32c_pmull, &[(has_pmull, "pmull")]),
        _ => return Support::Foreign,
    };
    // Optional in Armv8.0.
    let has_crc32 = is_aarch64_feature_detected!("crc");
    let missing = [(has_crc32, "crc32")]
        .into_iter()
        .chain(needs.iter().copied())
        .find(|(is_here, _)| !is_here);
    missing.map_or(Support::Here(function), |(_, feature)| Support::Lacking(feature))
}
