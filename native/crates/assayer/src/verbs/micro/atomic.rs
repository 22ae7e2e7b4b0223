//! Atomic read-modify-write of one word, or of one for each thread, in a chosen flavour.

use assay_primitives::atomics::Cell;
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Atomic, AtomicOperation};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use super::words::Words;
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{AtomicWorkload, MicroRequest};

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &AtomicWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    frame::run(request, output, |run| {
        let atomic = Atomic::new(request.parts.atomics, workload.operation)?;
        let words = Words::new(workload.words, run.schedule.threads, request.parts.pages)?;
        let (operation, flavour) = (workload.operation, request.parts.atomics.name());
        Ok(AtomicKind { atomic, operation, flavour, words })
    })
}

struct AtomicKind {
    atomic: Atomic,
    operation: AtomicOperation,
    flavour: &'static str,
    words: Words<Cell>,
}

impl Kind for AtomicKind {
    const NAME: &'static str = "atomic";
    fn least_ns(&self) -> f64 {
        1.0
    }

    fn address(&self) -> Address {
        self.atomic.address()
    }

    fn chosen(&self) -> Value {
        json!({"atomics": self.flavour})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.words.arena().obtained()?)
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        Ok(Box::new(AtomicShare { atomic: self.atomic, cell: self.words.of(thread) }))
    }

    fn is_sound(&mut self, executed: u64) -> bool {
        let operation = self.operation;
        self.words.all_mut().iter_mut().map(|cell| cell.count(operation)).sum::<u64>() == executed
    }
}

struct AtomicShare<'a> {
    atomic: Atomic,
    cell: &'a Cell,
}

impl Share for AtomicShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        self.atomic.run(self.cell, times);
        true
    }
}
