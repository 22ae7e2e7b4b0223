//! A small function reached in a chosen way.

use core::hint::black_box;

use assay_primitives::calls::{self, Call, Targets};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Arena, Called};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::MicroRequest;

/// Runs the workload.
pub fn run(request: &MicroRequest, output: &mut Output) -> Result<(), Failure> {
    frame::run(request, output, |_| {
        let arena = Arena::new(1, request.parts.pages)?;
        let call = request.parts.call;
        let function = Called::new(calls::function(call));
        Ok(CallKind { call, function, targets: black_box(Targets::new()), arena })
    })
}

struct CallKind {
    call: Call,
    function: Called<calls::Function>,
    targets: Targets,
    arena: Arena,
}

impl Kind for CallKind {
    const NAME: &'static str = "call";
    fn least_ns(&self) -> f64 {
        1.0
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"call": self.call.name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, _: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let (function, targets, expected) = (self.function, &self.targets, (0, START));
        Ok(Box::new(CallShare { function, targets, expected }))
    }
}

/// The number that every batch starts with.
const START: u64 = 1;

struct CallShare<'a> {
    function: Called<calls::Function>,
    targets: &'a Targets,
    /// So many calls, and what comes out.
    expected: (u64, u64),
}

impl Share for CallShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the targets are borrowed.
        let result = unsafe { (self.function.function())(self.targets, times, START) };
        if self.expected.0 == 0 {
            self.expected = (times, Targets::expected(times, START));
        }
        // All batches are as long as the first, and extras few: they may take the slow way.
        let (usual, expected) = self.expected;
        result == if times == usual { expected } else { Targets::expected(times, START) }
    }
}
