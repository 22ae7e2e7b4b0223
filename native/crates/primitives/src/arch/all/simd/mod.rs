//! Sums and counts without intrinsics, and the program written for SSE2 that two levels share.

pub mod sse_program;

use crate::arch::all::launder::launder;

/// The bytes of a column as numbers, one at a time.
fn numbers(column: &[u8]) -> impl Iterator<Item = &[u8; 4]> {
    column.as_chunks::<4>().0.iter()
}

/// The obvious sum: for what is left over, and for comparison.
#[inline]
pub fn sum_of(column: &[u8]) -> u64 {
    let sum = numbers(column).fold(0u32, |sum, bytes| sum.wrapping_add(u32::from_le_bytes(*bytes)));
    u64::from(sum)
}

/// The obvious count.
#[inline]
pub fn count_of(column: &[u8], threshold: u8) -> u64 {
    column.iter().filter(|byte| **byte >= threshold).count() as u64
}

/// Defines exported functions over a column: `symbol = |column, threshold| expression`, with the
/// CPU features that they need.
macro_rules! simd_functions {
    ($($(#[$attribute:meta])* $symbol:ident = |$column:ident, $threshold:pat_param| $body:expr;)+) => {$(
        /// See `simd::Function`.
        ///
        /// # Safety
        /// `data` is readable for `length` bytes, and the CPU has the level's instructions.
        #[unsafe(no_mangle)]
        #[inline(never)]
        $(#[$attribute])*
        pub unsafe extern "C" fn $symbol(data: *const u8, length: usize, threshold: u8) -> u64 {
            // SAFETY: the caller promises `length` readable bytes.
            let $column = unsafe { core::slice::from_raw_parts(data, length) };
            let $threshold = threshold;
            $body
        }
    )+};
}

pub(crate) use simd_functions;

simd_functions! {
    assay_simd_sum_scalar = |column, _| {
        let sum = numbers(column).fold(0u32, |sum, bytes| {
            // SAFETY: the laundered pointer is the reference it was made of.
            let bytes = unsafe { *launder(bytes) };
            sum.wrapping_add(u32::from_le_bytes(bytes))
        });
        u64::from(sum)
    };
    assay_simd_filter_scalar = |column, threshold| {
        let mut count = 0;
        for byte in column {
            // SAFETY: the laundered pointer is the reference it was made of.
            count += u64::from(unsafe { *launder(byte) } >= threshold);
        }
        count
    };
    assay_simd_sum_auto = |column, _| sum_of(column);
    assay_simd_filter_auto = |column, threshold| count_of(column, threshold);
}
