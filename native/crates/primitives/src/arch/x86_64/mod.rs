//! x86-64: hints, the time-stamp counter, SSE2 and AVX2, CRC32C by SSE4.2, PCLMULQDQ and
//! AVX-512 VPCLMULQDQ.

pub mod atomics;
pub mod calls;
pub mod clock;
pub mod crc32c;
pub mod hint;
pub mod htm;
pub mod simd;
pub mod slow;
pub mod timers;
