//! CRC32C by the SSE4.2 `crc32` instruction, eight bytes at a time.
//!
//! One stream, so it runs at the instruction's latency of three cycles (about 10 GB/s here), not at
//! its throughput. Interleaved streams and carry-less multiplication are faster and are levels of
//! their own to add, not a replacement of this one.

use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

/// The CPU feature that this level needs, as /proc/cpuinfo writes it.
pub const FEATURE: &str = "sse4_2";

/// Whether this CPU has the instruction.
pub fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("sse4.2")
}

/// One `crc32` instruction per eight bytes. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have SSE4.2 (`is_available`), and `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse4.2")]
pub unsafe extern "C" fn assay_crc32c_hardware(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut crc = u64::from(state);
    for word in words {
        crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    }
    rest.iter().fold(crc as u32, |crc, &byte| _mm_crc32_u8(crc, byte))
}
