//! The Armv8 `crc32c` instructions, eight bytes at a time, one stream.

use core::arch::aarch64::{__crc32cb, __crc32cd};

/// One `crc32cx` per eight bytes. `state` is the inverted CRC so far; so is the result.
///
/// # Safety
/// The CPU must have the CRC32 extension, and `data` must be readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
#[target_feature(enable = "crc")]
pub unsafe extern "C" fn assay_crc32c_hardware(data: *const u8, length: usize, state: u32) -> u32 {
    // SAFETY: the caller promises `length` readable bytes.
    let bytes = unsafe { core::slice::from_raw_parts(data, length) };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut crc = state;
    for word in words {
        crc = __crc32cd(crc, u64::from_le_bytes(*word));
    }
    rest.iter().fold(crc, |crc, &byte| __crc32cb(crc, byte))
}

/// The same for other levels: for what is too short for them.
#[inline]
#[target_feature(enable = "crc")]
pub fn one_stream(bytes: &[u8], state: u32) -> u32 {
    // SAFETY: the feature is enabled here, and a slice is readable for its length.
    unsafe { assay_crc32c_hardware(bytes.as_ptr(), bytes.len(), state) }
}
