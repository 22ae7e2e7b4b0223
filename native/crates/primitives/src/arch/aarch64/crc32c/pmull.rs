//! Folding by PMULL: four accumulators of 128 bits, 64 bytes a step.

use core::arch::aarch64::{
    __crc32cd, poly64x2_t, uint64x2_t, veorq_u64, vgetq_lane_p64, vgetq_lane_u64, vld1q_u8,
    vld1q_u64, vmull_high_p64, vmull_p64, vreinterpretq_p64_u64, vreinterpretq_u64_p128,
    vreinterpretq_u64_u8, vsetq_lane_u64,
};

use super::hardware::one_stream;
use crate::arch::all::crc32c::constants;

const LANE: usize = 16;
const STEP: usize = 4 * LANE;

/// Folds while there are 64 bytes left. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have the CRC32 extension and PMULL, and `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "neon,crc,aes")]
pub unsafe extern "C" fn assay_crc32c_pmull(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let Some((first, steps)) = steps.split_first() else { return one_stream(bytes, state) };
    let mut sums = load(first);
    let begun = u64::from(state) ^ vgetq_lane_u64::<0>(sums[0]);
    sums[0] = vsetq_lane_u64::<0>(begun, sums[0]);
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
    let low = __crc32cd(0, vgetq_lane_u64::<0>(sum));
    one_stream(rest, __crc32cd(low, vgetq_lane_u64::<1>(sum)))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(step: &[u8; STEP]) -> [uint64x2_t; 4] {
    let lanes = step.as_chunks::<LANE>().0;
    [load_lane(&lanes[0]), load_lane(&lanes[1]), load_lane(&lanes[2]), load_lane(&lanes[3])]
}

#[inline]
#[target_feature(enable = "neon")]
fn load_lane(lane: &[u8; LANE]) -> uint64x2_t {
    // SAFETY: a lane is 16 readable bytes, and the load needs no alignment.
    vreinterpretq_u64_u8(unsafe { vld1q_u8(lane.as_ptr()) })
}

#[inline]
#[target_feature(enable = "neon")]
fn multipliers(halves: [u64; 2]) -> poly64x2_t {
    // SAFETY: two readable words.
    vreinterpretq_p64_u64(unsafe { vld1q_u64(halves.as_ptr()) })
}

#[inline]
#[target_feature(enable = "neon,aes")]
fn fold(sum: uint64x2_t, by: poly64x2_t, next: uint64x2_t) -> uint64x2_t {
    let sum = vreinterpretq_p64_u64(sum);
    let low = vmull_p64(vgetq_lane_p64::<0>(sum), vgetq_lane_p64::<0>(by));
    let high = vmull_high_p64(sum, by);
    let both = veorq_u64(vreinterpretq_u64_p128(low), vreinterpretq_u64_p128(high));
    veorq_u64(both, next)
}
