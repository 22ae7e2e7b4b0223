//! Sums and counts by SSE2 and by AVX2.

use core::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8,
    _mm_movemask_epi8, _mm_set1_epi8, _mm_storeu_si128, _mm256_add_epi32, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_max_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    _mm256_storeu_si256,
};
use std::arch::is_x86_feature_detected;

use crate::arch::all::simd::sse_program::{self, Sse};
use crate::arch::all::simd::{count_of, simd_functions, sum_of};
use crate::simd::{Function, Simd, SimdWork};
use crate::support::Support;

#[derive(Clone, Copy)]
struct Native(__m128i);

impl Sse for Native {
    #[inline(always)]
    fn loadu(bytes: &[u8; 16]) -> Self {
        // SAFETY: sixteen readable bytes; every x86-64 CPU has SSE2, here and below.
        Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn storeu(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        // SAFETY: sixteen writable bytes.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0) };
        bytes
    }

    #[inline(always)]
    fn set1_epi8(byte: u8) -> Self {
        // SAFETY: SSE2 is the baseline.
        Self(unsafe { _mm_set1_epi8(byte as i8) })
    }

    #[inline(always)]
    fn add_epi32(self, other: Self) -> Self {
        // SAFETY: SSE2 is the baseline.
        Self(unsafe { _mm_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn max_epu8(self, other: Self) -> Self {
        // SAFETY: SSE2 is the baseline.
        Self(unsafe { _mm_max_epu8(self.0, other.0) })
    }

    #[inline(always)]
    fn cmpeq_epi8(self, other: Self) -> Self {
        // SAFETY: SSE2 is the baseline.
        Self(unsafe { _mm_cmpeq_epi8(self.0, other.0) })
    }

    #[inline(always)]
    fn movemask_epi8(self) -> u32 {
        // SAFETY: SSE2 is the baseline.
        unsafe { _mm_movemask_epi8(self.0) as u32 }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    debug_assert!(bytes.len() >= 32);
    // SAFETY: callers give 32 readable bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_avx2(column: &[u8]) -> u64 {
    let (blocks, rest) = column.as_chunks::<128>();
    let mut sums = [_mm256_set1_epi8(0); 4];
    for block in blocks {
        sums[0] = _mm256_add_epi32(sums[0], load(&block[..32]));
        sums[1] = _mm256_add_epi32(sums[1], load(&block[32..64]));
        sums[2] = _mm256_add_epi32(sums[2], load(&block[64..96]));
        sums[3] = _mm256_add_epi32(sums[3], load(&block[96..]));
    }
    let (first, second) = (_mm256_add_epi32(sums[0], sums[1]), _mm256_add_epi32(sums[2], sums[3]));
    let mut lanes = [0u8; 32];
    // SAFETY: 32 writable bytes.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi32(first, second)) };
    u64::from(sum_of(&lanes).wrapping_add(sum_of(rest)) as u32)
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn filter_avx2(column: &[u8], threshold: u8) -> u64 {
    let (vectors, rest) = column.as_chunks::<32>();
    let least = _mm256_set1_epi8(threshold as i8);
    let mut count = 0;
    for vector in vectors {
        let vector = load(vector);
        let mask = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(vector, least), vector));
        count += u64::from(mask.count_ones());
    }
    count + count_of(rest, threshold)
}

simd_functions! {
    assay_simd_sum_sse2 = |column, _| sse_program::sum::<Native>(column);
    #[target_feature(enable = "popcnt")]
    assay_simd_filter_sse2 = |column, threshold| sse_program::filter::<Native>(column, threshold);
    #[target_feature(enable = "avx2")]
    assay_simd_sum_avx2 = |column, _| sum_avx2(column);
    #[target_feature(enable = "avx2,popcnt")]
    assay_simd_filter_avx2 = |column, threshold| filter_avx2(column, threshold);
}

/// What this CPU has for a level.
pub fn function(level: Simd, work: SimdWork) -> Support<Function> {
    if !matches!(level, Simd::Sse2 | Simd::Avx2) {
        return Support::Foreign;
    }
    if work == SimdWork::Filter && !is_x86_feature_detected!("popcnt") {
        return Support::Lacking("popcnt");
    }
    if level == Simd::Avx2 && !is_x86_feature_detected!("avx2") {
        return Support::Lacking("avx2");
    }
    Support::Here(match (level, work) {
        (Simd::Sse2, SimdWork::Sum) => assay_simd_sum_sse2 as Function,
        (Simd::Sse2, SimdWork::Filter) => assay_simd_filter_sse2,
        (_, SimdWork::Sum) => assay_simd_sum_avx2,
        (_, SimdWork::Filter) => assay_simd_filter_avx2,
    })
}
