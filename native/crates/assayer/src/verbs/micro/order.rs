//! Stores, loads or read-modify-writes of a word under a chosen memory order.

use assay_primitives::smaps::Mapped;
use assay_primitives::{Access, Address, Called, Order, orders};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use super::words::{Apart, Words};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{MicroRequest, OrderWorkload};

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &OrderWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    frame::run(request, output, |run| {
        let words = Words::new(workload.words, run.schedule.threads, request.parts.pages)?;
        let (access, order) = (workload.access, request.parts.order);
        let function = Called::new(orders::function(access, order));
        Ok(OrderKind { function, access, order, words })
    })
}

struct OrderKind {
    function: Called<orders::Function>,
    access: Access,
    order: Order,
    words: Words<Apart>,
}

impl Kind for OrderKind {
    const NAME: &'static str = "order";
    fn least_ns(&self) -> f64 {
        0.25
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"order": self.order.name()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.words.arena().obtained()?)
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        Ok(Box::new(OrderShare { function: self.function, word: self.words.of(thread) }))
    }

    /// Additions add up whatever their order; a store leaves a number of a batch, a load nothing.
    fn is_sound(&mut self, executed: u64) -> bool {
        let mut words = self.words.all_mut().iter_mut().map(|word| *word.0.get_mut());
        match self.access {
            Access::Rmw => words.sum::<u64>() == executed,
            Access::Store => words.all(|word| word > 0 && word <= executed),
            Access::Load => words.all(|word| word == 0),
        }
    }
}

struct OrderShare<'a> {
    function: Called<orders::Function>,
    word: &'a Apart,
}

impl Share for OrderShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        // SAFETY: the word is borrowed.
        core::hint::black_box(unsafe { (self.function.function())(&self.word.0, times) });
        true
    }
}
