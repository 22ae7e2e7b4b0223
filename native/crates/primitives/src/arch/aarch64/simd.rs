//! Sums and counts by NEON, and by the SSE2 program with its intrinsics mapped to NEON.

use core::arch::aarch64::{
    uint8x16_t, uint32x4_t, vaddlvq_u8, vaddq_u32, vaddvq_u32, vceqq_u8, vcgeq_u8, vdupq_n_u8,
    vdupq_n_u32, vgetq_lane_u8, vld1q_u8, vmaxq_u8, vreinterpretq_u8_u32, vreinterpretq_u8_u64,
    vreinterpretq_u16_u8, vreinterpretq_u32_u8, vreinterpretq_u32_u16, vreinterpretq_u64_u32,
    vshrq_n_u8, vsraq_n_u16, vsraq_n_u32, vsraq_n_u64, vst1q_u8, vsubq_u8,
};

use crate::arch::all::simd::sse_program::{self, Sse};
use crate::arch::all::simd::{count_of, simd_functions, sum_of};
use crate::simd::{Function, Simd, SimdWork};
use crate::support::Support;

#[derive(Clone, Copy)]
struct Mapped(uint8x16_t);

impl Sse for Mapped {
    #[inline(always)]
    fn loadu(bytes: &[u8; 16]) -> Self {
        // SAFETY: sixteen readable bytes; every Armv8 CPU has NEON, here and below.
        Self(unsafe { vld1q_u8(bytes.as_ptr()) })
    }

    #[inline(always)]
    fn storeu(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        // SAFETY: sixteen writable bytes.
        unsafe { vst1q_u8(bytes.as_mut_ptr(), self.0) };
        bytes
    }

    #[inline(always)]
    fn set1_epi8(byte: u8) -> Self {
        // SAFETY: NEON is the baseline.
        Self(unsafe { vdupq_n_u8(byte) })
    }

    #[inline(always)]
    fn add_epi32(self, other: Self) -> Self {
        // SAFETY: NEON is the baseline.
        unsafe {
            let sum = vaddq_u32(vreinterpretq_u32_u8(self.0), vreinterpretq_u32_u8(other.0));
            Self(vreinterpretq_u8_u32(sum))
        }
    }

    #[inline(always)]
    fn max_epu8(self, other: Self) -> Self {
        // SAFETY: NEON is the baseline.
        Self(unsafe { vmaxq_u8(self.0, other.0) })
    }

    #[inline(always)]
    fn cmpeq_epi8(self, other: Self) -> Self {
        // SAFETY: NEON is the baseline.
        Self(unsafe { vceqq_u8(self.0, other.0) })
    }

    /// NEON has no such instruction: the top bits are gathered by shifts that join pairs, then
    /// fours, then eights, as sse2neon does.
    #[inline(always)]
    fn movemask_epi8(self) -> u32 {
        // SAFETY: NEON is the baseline.
        unsafe {
            let bits = vreinterpretq_u16_u8(vshrq_n_u8::<7>(self.0));
            let pairs = vreinterpretq_u32_u16(vsraq_n_u16::<7>(bits, bits));
            let fours = vreinterpretq_u64_u32(vsraq_n_u32::<14>(pairs, pairs));
            let eights = vreinterpretq_u8_u64(vsraq_n_u64::<28>(fours, fours));
            u32::from(vgetq_lane_u8::<0>(eights)) | u32::from(vgetq_lane_u8::<8>(eights)) << 8
        }
    }
}

#[inline(always)]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: sixteen readable bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline(always)]
fn sum_neon(column: &[u8]) -> u64 {
    let (blocks, rest) = column.as_chunks::<64>();
    // SAFETY: NEON is the baseline, here and below.
    let mut sums: [uint32x4_t; 4] = [unsafe { vdupq_n_u32(0) }; 4];
    for block in blocks {
        let (quarters, _) = block.as_chunks::<16>();
        for (sum, quarter) in sums.iter_mut().zip(quarters) {
            // SAFETY: NEON is the baseline.
            *sum = unsafe { vaddq_u32(*sum, vreinterpretq_u32_u8(load(quarter))) };
        }
    }
    // SAFETY: NEON is the baseline.
    let all =
        unsafe { vaddvq_u32(vaddq_u32(vaddq_u32(sums[0], sums[1]), vaddq_u32(sums[2], sums[3]))) };
    u64::from(all.wrapping_add(sum_of(rest) as u32))
}

/// Vectors whose matches fit a byte for each lane.
const UNTIL_FULL: usize = 255;

/// The mask of a comparison is -1 for each match: subtracting it counts.
#[inline(always)]
fn filter_neon(column: &[u8], threshold: u8) -> u64 {
    let (vectors, rest) = column.as_chunks::<16>();
    // SAFETY: NEON is the baseline, here and below.
    let least = unsafe { vdupq_n_u8(threshold) };
    let mut count = 0;
    for run in vectors.chunks(UNTIL_FULL) {
        // SAFETY: NEON is the baseline.
        unsafe {
            let mut matches = vdupq_n_u8(0);
            for vector in run {
                matches = vsubq_u8(matches, vcgeq_u8(load(vector), least));
            }
            count += u64::from(vaddlvq_u8(matches));
        }
    }
    count + count_of(rest, threshold)
}

simd_functions! {
    assay_simd_sum_neon = |column, _| sum_neon(column);
    assay_simd_filter_neon = |column, threshold| filter_neon(column, threshold);
    assay_simd_sum_translated = |column, _| sse_program::sum::<Mapped>(column);
    assay_simd_filter_translated = |column, threshold| {
        sse_program::filter::<Mapped>(column, threshold)
    };
}

/// What this CPU has for a level.
pub fn function(level: Simd, work: SimdWork) -> Support<Function> {
    match (level, work) {
        (Simd::Neon, SimdWork::Sum) => Support::Here(assay_simd_sum_neon as Function),
        (Simd::Neon, SimdWork::Filter) => Support::Here(assay_simd_filter_neon),
        (Simd::Translated, SimdWork::Sum) => Support::Here(assay_simd_sum_translated),
        (Simd::Translated, SimdWork::Filter) => Support::Here(assay_simd_filter_translated),
        _ => Support::Foreign,
    }
}
