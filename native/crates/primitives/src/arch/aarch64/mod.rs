//! aarch64: the `yield` and `isb` hints, the generic timer, the Armv8 CRC32C.
//!
//! Checked for behaviour under an emulator; no time measured there means anything.

pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod slow;
