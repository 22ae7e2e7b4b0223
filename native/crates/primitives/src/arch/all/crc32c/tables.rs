//! CRC32C in software, in two speeds.
//!
//! `bytewise` is the slow obvious twin that every other level is tested against, and the code that
//! a wrong dispatch falls back to in the field. `slicing8` takes eight bytes a step by eight tables
//! (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-based CRC
//! Generators", 2005).
//!
//! Both are exported under their own symbols so that a census of the running binary can prove which
//! one was called.

use super::POLYNOMIAL;

/// `TABLES[k][b]`: the CRC of byte `b` followed by `k` zero bytes.
static TABLES: [[u32; 256]; 8] = make_tables();

const fn make_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0_u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

#[inline(always)]
fn step(crc: u32, byte: u8) -> u32 {
    (crc >> 8) ^ TABLES[0][((crc ^ u32::from(byte)) & 0xFF) as usize]
}

/// One table look-up per byte. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_crc32c_bytewise(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    bytes.iter().fold(state, |crc, &byte| step(crc, byte))
}

/// Eight table look-ups per eight bytes. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_crc32c_slicing8(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut crc = state;
    for word in words {
        let mixed = u64::from_le_bytes(*word) ^ u64::from(crc);
        crc = 0;
        for (place, table) in TABLES.iter().rev().enumerate() {
            crc ^= table[((mixed >> (8 * place)) & 0xFF) as usize];
        }
    }
    rest.iter().fold(crc, |crc, &byte| step(crc, byte))
}
