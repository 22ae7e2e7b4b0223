//! Hashes and a cipher as crates bring them: with detection of the CPU at run time, and without.
//!
//! `twox-hash` chooses its vector code when it runs, `xxhash-rust` when it is compiled: for a
//! baseline CPU that means the narrowest. Both compute XXH3, 64 bits. ChaCha20 is a cipher; it
//! stands here because it too goes over a buffer, and by the same kind of choice. Each is reached
//! through a function of its own, `assay_hash_NAME`.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use crate::named;

named! {
    /// What is computed over a buffer, and by which crate.
    pub enum Hash {
        /// XXH3 by `twox-hash`: vector code chosen at run time.
        Xxh3Detected "xxh3-detected",
        /// XXH3 by `xxhash-rust`: vector code chosen when compiled.
        Xxh3Compiled "xxh3-compiled",
        /// ChaCha20 by `chacha20`: the buffer is enciphered in place.
        Chacha20 "chacha20",
    }
}

/// Works on a writable buffer, and returns the hash, or the first eight bytes of a cipher.
pub type Function = unsafe extern "C" fn(data: *mut u8, length: usize) -> u64;

/// The function of a choice.
pub fn function(hash: Hash) -> Function {
    match hash {
        Hash::Xxh3Detected => assay_hash_xxh3_detected,
        Hash::Xxh3Compiled => assay_hash_xxh3_compiled,
        Hash::Chacha20 => assay_hash_chacha20,
    }
}

/// XXH3 by `twox-hash`.
///
/// # Safety
/// `data` is readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_hash_xxh3_detected(data: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller promises `length` readable bytes.
    twox_hash::XxHash3_64::oneshot(unsafe { core::slice::from_raw_parts(data, length) })
}

/// XXH3 by `xxhash-rust`.
///
/// # Safety
/// `data` is readable for `length` bytes.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_hash_xxh3_compiled(data: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller promises `length` readable bytes.
    xxhash_rust::xxh3::xxh3_64(unsafe { core::slice::from_raw_parts(data, length) })
}

/// Key and nonce of the cipher: any will do, for its speed does not depend on them.
const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 12] = [9; 12];

/// Enciphers the buffer; once more gives back what it was.
///
/// # Safety
/// `data` is readable and writable for `length` bytes, and nobody else uses them.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_hash_chacha20(data: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller promises `length` bytes of its own.
    let buffer = unsafe { core::slice::from_raw_parts_mut(data, length) };
    ChaCha20::new(&KEY.into(), &NONCE.into()).apply_keystream(buffer);
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(buffer.iter()) {
        *to = *from;
    }
    u64::from_le_bytes(first)
}
