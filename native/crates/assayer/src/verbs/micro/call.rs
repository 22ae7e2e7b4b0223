//! A small function reached in a chosen way.

use core::hint::black_box;

use assay_primitives::calls::{self, Call, Targets};
use assay_primitives::{Address, Arena, Called};
use serde_json::Value;

use super::frame::{self, Kind, SHORT, Share};
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
    const TIMED: u64 = SHORT;

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Vec<(&'static str, Value)> {
        vec![("call", self.call.name().into())]
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn share(&self, _: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let expected = Targets::expected(SHORT, START);
        Ok(Box::new(CallShare { function: self.function, targets: &self.targets, expected }))
    }
}

/// The number that every batch starts with.
const START: u64 = 1;

struct CallShare<'a> {
    function: Called<calls::Function>,
    targets: &'a Targets,
    expected: u64,
}

impl Share for CallShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the targets are borrowed.
        let result = unsafe { (self.function.function())(self.targets, times, START) };
        // Batches with extras are seldom: they may take the slow way.
        let expected = if times == SHORT { self.expected } else { Targets::expected(times, START) };
        result == expected
    }
}
