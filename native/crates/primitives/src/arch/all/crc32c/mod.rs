//! CRC32C (Castagnoli, reflected polynomial 0x82F63B78): what needs no special instruction.

pub mod constants;
mod tables;

pub use tables::{assay_crc32c_bytewise, assay_crc32c_slicing8};

use crate::crc32c::{Crc32cLevel, Function};

const POLYNOMIAL: u32 = 0x82F6_3B78;

/// What a CPU has for a level.
pub type Support = crate::support::Support<Function>;

/// The levels that every CPU has; None for the others.
pub fn portable(level: Crc32cLevel) -> Option<Function> {
    match level {
        Crc32cLevel::Bytewise => Some(assay_crc32c_bytewise),
        Crc32cLevel::Slicing8 => Some(assay_crc32c_slicing8),
        _ => None,
    }
}
