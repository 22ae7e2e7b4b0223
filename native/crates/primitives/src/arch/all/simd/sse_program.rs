//! A sum and a count as one writes them for SSE2, over the five intrinsics they use.

use super::{count_of, sum_of};

/// A vector of 128 bits with the intrinsics of SSE2 that the program uses, under their names.
pub trait Sse: Copy {
    /// `_mm_loadu_si128`.
    fn loadu(bytes: &[u8; 16]) -> Self;
    /// `_mm_storeu_si128`.
    fn storeu(self) -> [u8; 16];
    /// `_mm_set1_epi8`.
    fn set1_epi8(byte: u8) -> Self;
    /// `_mm_add_epi32`.
    fn add_epi32(self, other: Self) -> Self;
    /// `_mm_max_epu8`.
    fn max_epu8(self, other: Self) -> Self;
    /// `_mm_cmpeq_epi8`.
    fn cmpeq_epi8(self, other: Self) -> Self;
    /// `_mm_movemask_epi8`: the top bit of each byte.
    fn movemask_epi8(self) -> u32;
}

/// Vectors added in turn to each of four sums, so that additions overlap.
#[inline(always)]
pub fn sum<V: Sse>(column: &[u8]) -> u64 {
    let (blocks, rest) = column.as_chunks::<64>();
    let mut sums = [V::set1_epi8(0); 4];
    for block in blocks {
        let (quarters, _) = block.as_chunks::<16>();
        sums[0] = sums[0].add_epi32(V::loadu(&quarters[0]));
        sums[1] = sums[1].add_epi32(V::loadu(&quarters[1]));
        sums[2] = sums[2].add_epi32(V::loadu(&quarters[2]));
        sums[3] = sums[3].add_epi32(V::loadu(&quarters[3]));
    }
    let all = sums[0].add_epi32(sums[1]).add_epi32(sums[2].add_epi32(sums[3]));
    u64::from(sum_of(&all.storeu()).wrapping_add(sum_of(rest)) as u32)
}

/// A byte is at least the threshold when it is the larger of both; the mask has a bit for each.
#[inline(always)]
pub fn filter<V: Sse>(column: &[u8], threshold: u8) -> u64 {
    let (vectors, rest) = column.as_chunks::<16>();
    let least = V::set1_epi8(threshold);
    let mut count = 0;
    for vector in vectors {
        let vector = V::loadu(vector);
        let mask = vector.max_epu8(least).cmpeq_epi8(vector).movemask_epi8();
        count += u64::from(mask.count_ones());
    }
    count + count_of(rest, threshold)
}
