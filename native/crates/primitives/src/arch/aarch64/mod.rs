//! aarch64: hints, the generic timer, exclusives and LSE, NEON, CRC32C by Armv8 CRC and PMULL.
//!
//! Checked for behaviour under an emulator; no time measured there means anything.

pub mod atomics;
pub mod calls;
pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod htm;
pub mod simd;
pub mod slow;
pub mod timers;
