//! Folding by PCLMULQDQ: four accumulators of 128 bits, 64 bytes a step.

use core::arch::x86_64::{
    __m128i, _mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi32_si128, _mm_extract_epi64,
    _mm_loadu_si128, _mm_set_epi64x, _mm_xor_si128,
};

use super::hardware::one_stream;
use crate::arch::all::crc32c::constants;

const LANE: usize = 16;
const STEP: usize = 4 * LANE;

/// Folds while there are 64 bytes left. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have SSE4.2 and PCLMULQDQ, and `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse4.2,pclmulqdq")]
pub unsafe extern "C" fn assay_crc32c_pclmul(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let Some((first, steps)) = steps.split_first() else { return one_stream(bytes, state) };
    let mut sums = load(first);
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(state.cast_signed()));
    let by_step = multipliers(const { constants::fold(8 * STEP as u64) });
    for step in steps {
        let next = load(step);
        for lane in 0..4 {
            sums[lane] = fold(sums[lane], by_step, next[lane]);
        }
    }
    let by_lane = multipliers(const { constants::fold(8 * LANE as u64) });
    let mut sum = sums[0];
    for next in &sums[1..] {
        sum = fold(sum, by_lane, *next);
    }
    one_stream(rest, finish(sum))
}

/// 128 bits that stand for the whole message so far, as a state.
#[inline]
#[target_feature(enable = "sse4.2")]
pub fn finish(sum: __m128i) -> u32 {
    let low = _mm_crc32_u64(0, _mm_extract_epi64::<0>(sum).cast_unsigned());
    _mm_crc32_u64(low, _mm_extract_epi64::<1>(sum).cast_unsigned()) as u32
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(step: &[u8; STEP]) -> [__m128i; 4] {
    let lanes = step.as_chunks::<LANE>().0;
    [load_lane(&lanes[0]), load_lane(&lanes[1]), load_lane(&lanes[2]), load_lane(&lanes[3])]
}

#[inline]
#[target_feature(enable = "sse2")]
fn load_lane(lane: &[u8; LANE]) -> __m128i {
    // SAFETY: a lane is 16 readable bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(lane.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn multipliers([low, high]: [u64; 2]) -> __m128i {
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}

#[inline]
#[target_feature(enable = "pclmulqdq")]
fn fold(sum: __m128i, by: __m128i, next: __m128i) -> __m128i {
    let low = _mm_clmulepi64_si128::<0x00>(sum, by);
    let high = _mm_clmulepi64_si128::<0x11>(sum, by);
    _mm_xor_si128(_mm_xor_si128(low, high), next)
}
