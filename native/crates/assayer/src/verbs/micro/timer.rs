//! Reading the time from a chosen source.

use assay_primitives::timers::{self, Timer};
use assay_primitives::{Address, Arena, Called};
use serde_json::Value;

use super::frame::{self, Kind, SHORT, Share};
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
    const TIMED: u64 = SHORT;

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Vec<(&'static str, Value)> {
        vec![("timer", self.timer.name().into())]
    }

    fn arena(&self) -> &Arena {
        &self.arena
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
