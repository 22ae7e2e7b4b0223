//! A sum or a count over a column, by a chosen kind of vector code.

use core::hint::black_box;

use assay_primitives::simd::{Simd, SimdFunction, SimdWork};
use assay_primitives::{Address, Arena};
use serde_json::Value;

use super::buffers::Buffers;
use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{MicroRequest, SimdWorkload};

/// The filter's: about half of all bytes reach it.
const THRESHOLD: u8 = 128;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &SimdWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let bytes = workload.buffer_bytes;
    Buffers::check(bytes)?;
    frame::run(request, output, |schedule| {
        let (level, work) = (request.parts.simd, workload.work);
        let function = SimdFunction::new(level, work)?;
        let pages = request.parts.pages;
        let buffers = Buffers::new(&[bytes], schedule.threads, schedule.seed, pages)?;
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
    const TIMED: u64 = 1;

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Vec<(&'static str, Value)> {
        vec![("simd", self.level.name().into())]
    }

    fn arena(&self) -> &Arena {
        self.buffers.arena()
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let mut random = self.buffers.random(thread);
        let column = self.buffers.zeroed(self.bytes)?;
        column.fill_with(|| random.bits() as u8);
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
