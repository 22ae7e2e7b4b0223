//! The CRC32C of a buffer, again and again, each value compared with the bytewise one.

use core::hint::black_box;

use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Crc32c, Crc32cLevel};
use serde_json::{Value, json};

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{Crc32cWorkload, MicroRequest};

/// No level is faster.
const BYTES_PER_NS: f64 = 100.0;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &Crc32cWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let bytes = workload.buffer_bytes;
    Buffers::check(bytes)?;
    frame::run(request, output, |run| {
        let crc32c = Crc32c::new(request.parts.crc32c.level(bytes))?;
        Ok(CrcKind { crc32c, bytes, buffers: Buffers::new(&[bytes], run, request.parts.pages)? })
    })
}

struct CrcKind {
    crc32c: Crc32c,
    bytes: usize,
    buffers: Buffers,
}

impl Kind for CrcKind {
    const NAME: &'static str = "crc32c";

    fn least_ns(&self) -> f64 {
        1.0 + self.bytes as f64 / BYTES_PER_NS
    }

    fn address(&self) -> Address {
        self.crc32c.address()
    }

    fn chosen(&self) -> Value {
        json!({"crc32c": self.crc32c.level().name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        self.buffers.obtained()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let buffer = self.buffers.filled(thread, self.bytes)?;
        let expected = Crc32c::new(Crc32cLevel::Bytewise)?.checksum(buffer);
        Ok(Box::new(CrcShare { crc32c: self.crc32c, buffer, expected }))
    }
}

struct CrcShare<'a> {
    crc32c: Crc32c,
    buffer: &'a [u8],
    expected: u32,
}

impl Share for CrcShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        let mut is_right = true;
        for _ in 0..times {
            is_right &= self.crc32c.checksum(black_box(self.buffer)) == self.expected;
        }
        is_right
    }
}
