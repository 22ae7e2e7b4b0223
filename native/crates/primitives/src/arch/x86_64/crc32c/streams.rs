//! Three interleaved streams of the `crc32` instruction: its throughput of one a cycle.
//!
//! A block is three stretches side by side. Their states are moved to the block's end by one
//! carry-less multiplication each; the multipliers belong to the length of a stretch, so there are
//! two lengths and their constants are known to the compiler.

use core::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
};

use super::hardware::one_stream;
use crate::arch::all::crc32c::constants;

/// Bytes of a stretch. Three of the long ones are the most that fit in a page of 4 KiB.
const LONG: usize = 1360;
const SHORT: usize = 256;

/// Three streams while there is a block left. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have SSE4.2 and PCLMULQDQ, and `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub unsafe extern "C" fn assay_crc32c_hardware_3way(
    data: *const u8,
    length: usize,
    state: u32,
) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (crc, rest) = blocks::<LONG>(bytes, state);
    let (crc, rest) = blocks::<SHORT>(rest, crc);
    one_stream(rest, crc)
}

#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn blocks<const STRETCH: usize>(bytes: &[u8], state: u32) -> (u32, &[u8]) {
    let (mut crc, mut rest) = (state, bytes);
    while let Some((first, more)) = rest.split_at_checked(STRETCH)
        && let Some((second, more)) = more.split_at_checked(STRETCH)
        && let Some((third, more)) = more.split_at_checked(STRETCH)
    {
        let (first, second) = (first.as_chunks::<8>().0, second.as_chunks::<8>().0);
        let third = third.as_chunks::<8>().0;
        let mut states = [u64::from(crc), 0, 0];
        for place in 0..STRETCH / 8 {
            states[0] = _mm_crc32_u64(states[0], u64::from_le_bytes(first[place]));
            states[1] = _mm_crc32_u64(states[1], u64::from_le_bytes(second[place]));
            states[2] = _mm_crc32_u64(states[2], u64::from_le_bytes(third[place]));
        }
        let by = const { [constants::shift(2 * STRETCH), constants::shift(STRETCH)] };
        let moved = shifted(states[0], by[0]) ^ shifted(states[1], by[1]);
        crc = _mm_crc32_u64(0, moved) as u32 ^ states[2] as u32;
        rest = more;
    }
    (crc, rest)
}

/// The product that the `crc32` instruction turns into a state moved forward (`constants::shift`).
#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub fn shifted(state: u64, multiplier: u64) -> u64 {
    _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(word(state), word(multiplier))) as u64
}

#[inline]
#[target_feature(enable = "sse2")]
fn word(value: u64) -> __m128i {
    _mm_cvtsi64_si128(value.cast_signed())
}
