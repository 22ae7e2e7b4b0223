//! x86-64: the `pause` hint, the time-stamp counter, the SSE4.2 CRC32C.

pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod slow;
