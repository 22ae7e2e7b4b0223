//! Compressing and decompressing a buffer: LZ4, Zstandard, or a plain copy.
//!
//! Each direction of each is a function of its own, `assay_compress_NAME` and
//! `assay_decompress_NAME`, called once for each buffer.

use zstd::bulk::{Compressor, Decompressor};

use crate::PrimitiveError;
use crate::named;

named! {
    /// The format.
    pub enum Compression {
        /// None: the bytes are copied.
        Copy "copy",
        /// LZ4 blocks by `lz4_flex`.
        Lz4 "lz4",
        /// Zstandard by the reference library.
        Zstd "zstd",
    }
}

/// The levels of Zstandard that are offered.
pub const ZSTD_LEVELS: core::ops::RangeInclusive<i32> = 1..=19;

/// One thread's compressor and decompressor.
pub struct Codec {
    compression: Compression,
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
}

/// Reads one buffer and fills another; the bytes filled, 0 if that failed.
pub type Function = unsafe extern "C" fn(
    codec: *mut Codec,
    source: *const u8,
    length: usize,
    target: *mut u8,
    room: usize,
) -> usize;

impl Codec {
    /// A codec; `level` is Zstandard's and is ignored by the others.
    pub fn new(compression: Compression, level: i32) -> Result<Self, PrimitiveError> {
        let failed = |source| PrimitiveError::Os { call: "making a Zstandard context", source };
        let level = level.clamp(*ZSTD_LEVELS.start(), *ZSTD_LEVELS.end());
        let compressor = Compressor::new(level).map_err(failed)?;
        let decompressor = Decompressor::new().map_err(failed)?;
        Ok(Self { compression, compressor, decompressor })
    }

    /// The most bytes that a buffer may become.
    pub fn room(&self, length: usize) -> usize {
        match self.compression {
            Compression::Copy => length,
            Compression::Lz4 => lz4_flex::block::get_maximum_output_size(length),
            Compression::Zstd => zstd::zstd_safe::compress_bound(length),
        }
    }

    /// Runs a function of this codec's format; the bytes filled, `None` if that failed.
    pub fn run(&mut self, function: Function, source: &[u8], target: &mut [u8]) -> Option<usize> {
        let (from, length) = (source.as_ptr(), source.len());
        let (to, room) = (target.as_mut_ptr(), target.len());
        // SAFETY: both slices are borrowed for the call.
        let filled = unsafe { function(self, from, length, to, room) };
        (filled > 0).then_some(filled)
    }
}

/// The function that compresses.
pub fn compress(compression: Compression) -> Function {
    match compression {
        Compression::Copy => assay_compress_copy,
        Compression::Lz4 => assay_compress_lz4,
        Compression::Zstd => assay_compress_zstd,
    }
}

/// The function that decompresses.
pub fn decompress(compression: Compression) -> Function {
    match compression {
        Compression::Copy => assay_decompress_copy,
        Compression::Lz4 => assay_decompress_lz4,
        Compression::Zstd => assay_decompress_zstd,
    }
}

macro_rules! codec_functions {
    ($($symbol:ident: |$codec:pat_param, $source:ident, $target:ident| $body:expr;)+) => {$(
        /// Reads `length` bytes and fills up to `room`; see `Function`.
        ///
        /// # Safety
        /// `codec` is live and nobody else's, `source` readable for `length` bytes, `target`
        /// writable for `room`, and they do not overlap.
        #[unsafe(no_mangle)]
        #[inline(never)]
        pub unsafe extern "C" fn $symbol(
            codec: *mut Codec,
            source: *const u8,
            length: usize,
            target: *mut u8,
            room: usize,
        ) -> usize {
            // SAFETY: the caller's promise.
            let ($codec, $source, $target) = unsafe {
                let source = core::slice::from_raw_parts(source, length);
                (&mut *codec, source, core::slice::from_raw_parts_mut(target, room))
            };
            $body
        }
    )+};
}

fn copy(source: &[u8], target: &mut [u8]) -> usize {
    match target.get_mut(..source.len()) {
        Some(target) => {
            target.copy_from_slice(source);
            source.len()
        }
        None => 0,
    }
}

codec_functions! {
    assay_compress_copy: |_, source, target| copy(source, target);
    assay_decompress_copy: |_, source, target| copy(source, target);
    assay_compress_lz4: |_, source, target| {
        lz4_flex::block::compress_into(source, target).unwrap_or(0)
    };
    assay_decompress_lz4: |_, source, target| {
        lz4_flex::block::decompress_into(source, target).unwrap_or(0)
    };
    assay_compress_zstd: |codec, source, target| {
        codec.compressor.compress_to_buffer(source, target).unwrap_or(0)
    };
    assay_decompress_zstd: |codec, source, target| {
        codec.decompressor.decompress_to_buffer(source, target).unwrap_or(0)
    };
}
