//! x86-64: the `pause` hint, the time-stamp counter, CRC32C by SSE4.2, PCLMULQDQ and
//! AVX-512 VPCLMULQDQ.

pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod slow;
