//! Folding and three streams of `crc32` at once, which different units of the core carry out.
//!
//! A block is a stretch that is folded and three that the `crc32` instruction takes, side by side.
//! As in `streams`, the multipliers that join them belong to the lengths of a block, of which there
//! are two; what is left is folded.

use core::arch::x86_64::_mm_crc32_u64;

use super::streams::shifted;
use super::vpclmul::{self, STEP};
use crate::arch::all::crc32c::constants;

/// Words of each stream per 256 folded bytes: both take about as long on a Zen 4.
const WORDS: usize = 4;
/// Bytes of that.
const STREAMED: usize = 8 * WORDS;
/// Steps of a block.
const LONG: usize = 256;
const SHORT: usize = 40;

/// Folds and streams while there is a block left, then folds. `state` is the inverted CRC so far;
/// so is the result.
///
/// # Safety
/// The CPU must have SSE4.2, PCLMULQDQ, AVX-512F and VPCLMULQDQ, and `data` must be readable for
/// `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
pub unsafe extern "C" fn assay_crc32c_fusion(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (crc, rest) = blocks::<LONG>(bytes, state);
    let (crc, rest) = blocks::<SHORT>(rest, crc);
    // SAFETY: the features are enabled here, and a slice is readable for its length.
    unsafe { vpclmul::assay_crc32c_vpclmul(rest.as_ptr(), rest.len(), crc) }
}

#[inline]
#[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
fn blocks<const STEPS: usize>(bytes: &[u8], state: u32) -> (u32, &[u8]) {
    let (mut crc, mut rest) = (state, bytes);
    while let Some((block, more)) = rest.split_at_checked(STEPS * (STEP + 3 * STREAMED)) {
        let (steps, streamed) = block.split_at(STEPS * STEP);
        let (first, others) = streamed.split_at(STEPS * STREAMED);
        let (second, third) = others.split_at(STEPS * STREAMED);
        let steps = steps.as_chunks::<STEP>().0;
        let first = first.as_chunks::<STREAMED>().0;
        let second = second.as_chunks::<STREAMED>().0;
        let third = third.as_chunks::<STREAMED>().0;
        let mut sums = vpclmul::begin(&steps[0], crc);
        let by = vpclmul::step_multipliers();
        let mut states = streamed_on([0; 3], &first[0], &second[0], &third[0]);
        for place in 1..STEPS {
            sums = vpclmul::fold_step(sums, by, &steps[place]);
            states = streamed_on(states, &first[place], &second[place], &third[place]);
        }
        let by = const {
            let stretch = STEPS * STREAMED;
            [
                constants::shift(stretch),
                constants::shift(2 * stretch),
                constants::shift(3 * stretch),
            ]
        };
        let moved = shifted(u64::from(vpclmul::end(sums)), by[2])
            ^ shifted(states[0], by[1])
            ^ shifted(states[1], by[0]);
        crc = _mm_crc32_u64(0, moved) as u32 ^ states[2] as u32;
        rest = more;
    }
    (crc, rest)
}

/// Moves each stream over its next words.
#[inline]
#[target_feature(enable = "sse4.2")]
fn streamed_on(
    states: [u64; 3],
    first: &[u8; STREAMED],
    second: &[u8; STREAMED],
    third: &[u8; STREAMED],
) -> [u64; 3] {
    let [mut a, mut b, mut c] = states;
    let (first, second) = (first.as_chunks::<8>().0, second.as_chunks::<8>().0);
    let third = third.as_chunks::<8>().0;
    for word in 0..WORDS {
        a = _mm_crc32_u64(a, u64::from_le_bytes(first[word]));
        b = _mm_crc32_u64(b, u64::from_le_bytes(second[word]));
        c = _mm_crc32_u64(c, u64::from_le_bytes(third[word]));
    }
    [a, b, c]
}
