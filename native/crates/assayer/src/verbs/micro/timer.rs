//! Reading the time from a chosen source.

use assay_primitives::smaps::Mapped;
use assay_primitives::timers::{self, Timer};
use assay_primitives::{Address, Arena, Called};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::MicroRequest;

/// Runs the workload.
pub fn run(request: &MicroRequest, output: &mut Output) -> Result<(), Failure> {
    frame::run(request, output, |_| {
        let timer = request.parts.timer;
        let function = Called::new(timers::function(timer)?);
        Ok(TimerKind { timer, function, arena: Arena::new(1, request.parts.pages)? })
    })
}

struct TimerKind {
    timer: Timer,
    function: Called<timers::Function>,
    arena: Arena,
}

impl Kind for TimerKind {
    const NAME: &'static str = "timer";
    fn least_ns(&self) -> f64 {
        5.0
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"timer": self.timer.name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, _: usize) -> Result<Box<dyn Share + '_>, Failure> {
        Ok(Box::new(TimerShare { function: self.function }))
    }
}

struct TimerShare {
    function: Called<timers::Function>,
}

impl Share for TimerShare {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the function was handed out for this CPU.
        unsafe { (self.function.function())(times) == 1 }
    }
}
