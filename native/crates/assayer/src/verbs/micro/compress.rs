//! Compressing or decompressing a buffer; what comes out is compared in length, and once in full.
//!
//! The buffer is made up: stretches of fresh random bytes, and copies of earlier stretches for a
//! share that the workload states. The ratio that results is in the manifest.

use assay_primitives::codecs::{self, Codec, Compression, ZSTD_LEVELS};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Called};
use assay_random::Random;
use serde_json::{Value, json};

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{CompressWorkload, Direction, MicroRequest};

/// Bytes of one stretch.
const STRETCH: usize = 32;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &CompressWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let (bytes, level) = (workload.buffer_bytes, request.parts.zstd_level);
    Buffers::check(bytes)?;
    if workload.repeated_percent > 100 {
        let percent = workload.repeated_percent;
        let message = format!("workload.repeated_percent is {percent}: from 0 to 100");
        return Err(Failure::usage(message));
    }
    if !ZSTD_LEVELS.contains(&level) {
        let (low, high) = (ZSTD_LEVELS.start(), ZSTD_LEVELS.end());
        let message = format!("parts.zstd_level is {level}: from {low} to {high}");
        return Err(Failure::usage(message));
    }
    frame::run(request, output, |run| {
        let compression = request.parts.compression;
        let room = Codec::new(compression, level)?.room(bytes);
        let sizes = [bytes, bytes, room];
        // Twice, because the ratio is measured beforehand.
        let buffers = Buffers::new(&[sizes, sizes].concat(), run, request.parts.pages)?;
        let workload = workload.clone();
        let function = Called::new(match workload.direction {
            Direction::Compress => codecs::compress(compression),
            Direction::Decompress => codecs::decompress(compression),
        });
        let mut kind =
            CompressKind { compression, level, room, workload, function, buffers, packed: 0 };
        kind.packed = kind.prepare(0)?.packed_bytes;
        Ok(kind)
    })
}

struct CompressKind {
    compression: Compression,
    level: i32,
    room: usize,
    workload: CompressWorkload,
    function: Called<codecs::Function>,
    buffers: Buffers,
    /// Bytes of the first thread's buffer, compressed.
    packed: usize,
}

impl CompressKind {
    /// A thread's buffers, filled, compressed, decompressed and compared.
    fn prepare(&self, thread: usize) -> Result<CompressShare<'_>, Failure> {
        let bytes = self.workload.buffer_bytes;
        let plain = self.buffers.zeroed(thread, bytes)?;
        fill(plain, self.workload.repeated_percent, &mut self.buffers.random(thread));
        let back = self.buffers.zeroed(thread, bytes)?;
        let packed = self.buffers.zeroed(thread, self.room)?;
        let mut codec = Codec::new(self.compression, self.level)?;
        let wrong = || anyhow::anyhow!("{} does not give back its input", self.compression.name());
        let compress = codecs::compress(self.compression);
        let packed_bytes = codec.run(compress, plain, packed).ok_or_else(wrong)?;
        let decompress = codecs::decompress(self.compression);
        let length = codec.run(decompress, &packed[..packed_bytes], back).ok_or_else(wrong)?;
        if length != bytes || back != plain {
            return Err(wrong().into());
        }
        let (function, direction) = (self.function, self.workload.direction);
        Ok(CompressShare { codec, function, direction, plain, back, packed, packed_bytes })
    }
}

/// Stretches: copies of an earlier one with the given probability, fresh bytes otherwise.
fn fill(buffer: &mut [u8], repeated_percent: u64, random: &mut Random) {
    let length = buffer.len();
    for start in (0..length).step_by(STRETCH) {
        let end = length.min(start + STRETCH);
        if start >= STRETCH && random.below(100) < repeated_percent {
            let from = random.below((start - STRETCH + 1) as u64) as usize;
            buffer.copy_within(from..from + (end - start), start);
        } else {
            buffer[start..end].fill_with(|| random.bits() as u8);
        }
    }
}

impl Kind for CompressKind {
    const NAME: &'static str = "compress";
    /// Codecs differ a thousandfold, so each has a bound of its own.
    fn least_ns(&self) -> f64 {
        let bytes_per_ns = match self.compression {
            Compression::Copy => 100.0,
            Compression::Lz4 => 10.0,
            Compression::Zstd => 2.0,
        };
        self.workload.buffer_bytes as f64 / bytes_per_ns
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        let ratio = self.workload.buffer_bytes as f64 / self.packed as f64;
        json!({
            "compression": self.compression.name(),
            "zstd_level": self.level,
            "compression_ratio": ratio,
        })
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        self.buffers.obtained()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        Ok(Box::new(self.prepare(thread)?))
    }
}

struct CompressShare<'a> {
    codec: Codec,
    function: Called<codecs::Function>,
    direction: Direction,
    plain: &'a mut [u8],
    back: &'a mut [u8],
    packed: &'a mut [u8],
    packed_bytes: usize,
}

impl Share for CompressShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        let mut is_right = true;
        for _ in 0..times {
            is_right &= match self.direction {
                Direction::Compress => {
                    let filled = self.codec.run(self.function.function(), self.plain, self.packed);
                    filled == Some(self.packed_bytes)
                }
                Direction::Decompress => {
                    let packed = &self.packed[..self.packed_bytes];
                    let filled = self.codec.run(self.function.function(), packed, self.back);
                    filled == Some(self.plain.len())
                }
            };
        }
        is_right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_repetition_compresses_better() {
        let size = |percent| {
            let mut data = vec![0; 50_000];
            fill(&mut data, percent, &mut Random::new(1, 0));
            let mut codec = Codec::new(Compression::Zstd, 3).unwrap();
            let mut packed = vec![0; codec.room(data.len())];
            codec.run(codecs::compress(Compression::Zstd), &data, &mut packed).unwrap()
        };
        assert!(size(0) >= 50_000, "random bytes do not compress");
        assert!(size(60) < 30_000);
        assert!(size(95) < size(60) / 2);
    }
}
