//! Folding by AVX-512 VPCLMULQDQ: four accumulators of 512 bits, 256 bytes a step.

use core::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_xor_si128, _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32,
    _mm512_loadu_si512, _mm512_ternarylogic_epi64, _mm512_xor_si512, _mm512_zextsi128_si512,
};

use super::hardware::one_stream;
use super::pclmul::finish;
use crate::arch::all::crc32c::constants;

const REGISTER: usize = 64;
/// Bytes of a step.
pub const STEP: usize = 4 * REGISTER;
/// The value of a three-way exclusive or, as the ternary logic instruction wants it.
const XOR3: i32 = 0x96;

/// What moves the first three lanes of a register to the place of the fourth.
const TO_LAST_LANE: [[u64; 2]; 4] =
    [constants::fold(3 * 128), constants::fold(2 * 128), constants::fold(128), [0, 0]];

/// What moves every lane forward by `bytes`.
const fn everywhere(bytes: usize) -> [[u64; 2]; 4] {
    [constants::fold(8 * bytes as u64); 4]
}

/// The four accumulators: together they stand for the message so far.
pub type Sums = [__m512i; 4];

/// Folds while there are 256 bytes left. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have SSE4.2, AVX-512F and VPCLMULQDQ, and `data` must be readable for `length`
/// bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "sse4.2,avx512f,vpclmulqdq")]
pub unsafe extern "C" fn assay_crc32c_vpclmul(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let Some((first, steps)) = steps.split_first() else { return one_stream(bytes, state) };
    let mut sums = begin(first, state);
    let by = step_multipliers();
    for step in steps {
        sums = fold_step(sums, by, step);
    }
    // What is left of a step still has whole registers.
    let (registers, rest) = rest.as_chunks::<REGISTER>();
    let by = multipliers(const { everywhere(REGISTER) });
    let mut sum = one_register(sums);
    for register in registers {
        sum = fold(sum, by, load(register));
    }
    one_stream(rest, one_state(sum))
}

/// The first step of a message, after `state`.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn begin(step: &[u8; STEP], state: u32) -> Sums {
    let mut sums = load_step(step);
    let state = _mm512_zextsi128_si512(_mm_cvtsi32_si128(state.cast_signed()));
    sums[0] = _mm512_xor_si512(sums[0], state);
    sums
}

/// What `fold_step` multiplies by.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn step_multipliers() -> __m512i {
    multipliers(const { everywhere(STEP) })
}

/// Moves the accumulators over one more step.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
pub fn fold_step(sums: Sums, by: __m512i, step: &[u8; STEP]) -> Sums {
    let next = load_step(step);
    [
        fold(sums[0], by, next[0]),
        fold(sums[1], by, next[1]),
        fold(sums[2], by, next[2]),
        fold(sums[3], by, next[3]),
    ]
}

/// The accumulators as a state.
#[inline]
#[target_feature(enable = "sse4.2,avx512f,vpclmulqdq")]
pub fn end(sums: Sums) -> u32 {
    one_state(one_register(sums))
}

/// Each accumulator moved to the place of the last, none of them waiting for another.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn one_register([first, second, third, fourth]: Sums) -> __m512i {
    let first = fold(first, multipliers(const { everywhere(3 * REGISTER) }), fourth);
    let second = products(second, multipliers(const { everywhere(2 * REGISTER) }));
    let third = products(third, multipliers(const { everywhere(REGISTER) }));
    let sum = _mm512_ternarylogic_epi64::<XOR3>(first, second[0], second[1]);
    _mm512_ternarylogic_epi64::<XOR3>(sum, third[0], third[1])
}

/// The first three lanes moved to the place of the fourth.
#[inline]
#[target_feature(enable = "sse4.2,avx512f,vpclmulqdq")]
fn one_state(sum: __m512i) -> u32 {
    let [low, high] = products(sum, multipliers(TO_LAST_LANE));
    let moved = _mm512_xor_si512(low, high);
    let lanes = _mm_xor_si128(
        _mm_xor_si128(_mm512_extracti32x4_epi32::<0>(moved), _mm512_extracti32x4_epi32::<1>(moved)),
        _mm_xor_si128(_mm512_extracti32x4_epi32::<2>(moved), _mm512_extracti32x4_epi32::<3>(sum)),
    );
    finish(lanes)
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(sum: __m512i, by: __m512i, next: __m512i) -> __m512i {
    let [low, high] = products(sum, by);
    _mm512_ternarylogic_epi64::<XOR3>(low, high, next)
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn products(sum: __m512i, by: __m512i) -> [__m512i; 2] {
    [_mm512_clmulepi64_epi128::<0x00>(sum, by), _mm512_clmulepi64_epi128::<0x11>(sum, by)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn multipliers(lanes: [[u64; 2]; 4]) -> __m512i {
    // SAFETY: 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_step(step: &[u8; STEP]) -> Sums {
    let registers = step.as_chunks::<REGISTER>().0;
    [load(&registers[0]), load(&registers[1]), load(&registers[2]), load(&registers[3])]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(register: &[u8; REGISTER]) -> __m512i {
    // SAFETY: a register is 64 readable bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(register.as_ptr().cast()) }
}
