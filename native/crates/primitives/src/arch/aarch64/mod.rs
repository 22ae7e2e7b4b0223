//! aarch64: the `yield` and `isb` hints, the generic timer, CRC32C by Armv8 CRC and PMULL.
//!
//! Checked for behaviour under an emulator; no time measured there means anything.

pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod slow;
