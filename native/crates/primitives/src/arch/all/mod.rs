//! Code that runs on every supported CPU.

pub mod crc32c;
pub mod hint;
pub mod launder;
pub mod simd;
