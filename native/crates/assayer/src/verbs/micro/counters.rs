//! A counter for each thread, at a chosen distance from the next: false sharing, or none.

use assay_primitives::counters::{self, Counters, assay_counters_add};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Arena, Called};
use core::sync::atomic::AtomicU64;
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::MicroRequest;

const STRIDES: [usize; 6] = [8, 16, 32, 64, 128, 256];

/// Runs the workload.
pub fn run(request: &MicroRequest, output: &mut Output) -> Result<(), Failure> {
    let stride = request.parts.stride;
    if !STRIDES.contains(&stride) {
        let message = format!("parts.stride is {stride}: 8, 16, 32, 64, 128 or 256");
        return Err(Failure::usage(message));
    }
    frame::run(request, output, |run| {
        // At least two, so that the distance can be measured.
        let count = run.schedule.threads.max(2);
        let arena = Arena::new(Counters::bytes(count, stride), request.parts.pages)?;
        let counters = Counters::new(&arena, count, stride)
            .ok_or_else(|| anyhow::anyhow!("the arena has no room for {count} counters"))?;
        let function = Called::new(assay_counters_add as counters::Function);
        Ok(CountersKind { function, counters, stride, arena })
    })
}

struct CountersKind {
    function: Called<counters::Function>,
    counters: Counters,
    stride: usize,
    arena: Arena,
}

impl Kind for CountersKind {
    const NAME: &'static str = "counters";
    fn least_ns(&self) -> f64 {
        1.0
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        let measured = self.counters.measured_stride_bytes();
        json!({"stride": self.stride, "counter_stride_bytes": measured})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let counter = self.counters.counter(thread);
        Ok(Box::new(CounterShare { function: self.function, counter }))
    }

    fn is_sound(&mut self, executed: u64) -> bool {
        self.counters.sum() == executed
    }
}

struct CounterShare<'a> {
    function: Called<counters::Function>,
    counter: &'a AtomicU64,
}

impl Share for CounterShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the counter is borrowed.
        unsafe { (self.function.function())(self.counter, times) };
        true
    }
}
