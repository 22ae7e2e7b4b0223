//! A sum or a count over a column, by a chosen kind of vector code.

use core::hint::black_box;

use assay_primitives::Address;
use assay_primitives::simd::{Simd, SimdFunction, SimdWork};
use assay_primitives::smaps::Mapped;
use serde_json::{Value, json};

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{MicroRequest, SimdWorkload};

/// The filter's: about half of all bytes reach it.
const THRESHOLD: u8 = 128;

/// No vector code is faster.
const BYTES_PER_NS: f64 = 200.0;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &SimdWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let bytes = workload.buffer_bytes;
    Buffers::check(bytes)?;
    frame::run(request, output, |run| {
        let (level, work) = (request.parts.simd, workload.work);
        let function = SimdFunction::new(level, work)?;
        let buffers = Buffers::new(&[bytes], run, request.parts.pages)?;
        Ok(SimdKind { level, work, function, bytes, buffers })
    })
}

struct SimdKind {
    level: Simd,
    work: SimdWork,
    function: SimdFunction,
    bytes: usize,
    buffers: Buffers,
}

impl Kind for SimdKind {
    const NAME: &'static str = "simd";
    fn least_ns(&self) -> f64 {
        self.bytes as f64 / BYTES_PER_NS
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"simd": self.level.name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        self.buffers.obtained()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let column = self.buffers.filled(thread, self.bytes)?;
        let expected = SimdFunction::new(Simd::Scalar, self.work)?.run(column, THRESHOLD);
        Ok(Box::new(SimdShare { function: self.function, column, expected }))
    }
}

struct SimdShare<'a> {
    function: SimdFunction,
    column: &'a [u8],
    expected: u64,
}

impl Share for SimdShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        let mut is_right = true;
        for _ in 0..times {
            is_right &= self.function.run(black_box(self.column), THRESHOLD) == self.expected;
        }
        is_right
    }
}
