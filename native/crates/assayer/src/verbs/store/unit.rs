//! One thread's session with its inputs, as the driver sees it.

use assay_primitives::Clock;
use assay_stores::{Session, Shape, Store, carry_out};
use assay_workload::{OperationKind, Plan, Stream};

use super::full;
use crate::failure::Failure;
use assay_measure::{Counts, Done, Unit};

/// Operations between two looks at the stop flag, and the time after which they end earlier: some
/// wait for a device.
pub const BATCH: usize = 16;
const BATCH_NS: u64 = 1_000_000;

/// A session with its inputs.
pub struct StoreUnit<'a> {
    session: Box<dyn Session + 'a>,
    store: &'a dyn Store,
    /// The first thread counts for all what the library counts for all.
    counts_all: bool,
    stream: Stream,
    shape: Shape,
    clock: Clock,
    batch_ticks: u64,
    executed: u64,
    /// From a kind of operation to its place among the kinds of this mix.
    place_of_kind: [usize; OperationKind::ALL.len()],
}

impl<'a> StoreUnit<'a> {
    /// A session for the calling thread.
    ///
    /// # Errors
    /// Those of the library.
    pub fn new(
        store: &'a dyn Store,
        plan: &Plan,
        thread: usize,
        clock: Clock,
    ) -> Result<Self, Failure> {
        Ok(Self {
            session: store.session()?,
            store,
            counts_all: thread == 0,
            stream: plan.stream(thread, 0),
            shape: Shape::of(plan.parameters()),
            clock,
            batch_ticks: clock.ticks_of_ns(BATCH_NS),
            executed: 0,
            place_of_kind: plan.places(),
        })
    }
}

impl Unit for StoreUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> anyhow::Result<()> {
        let end = self.clock.ticks() + self.batch_ticks;
        for _ in 0..BATCH {
            let operation = self.stream.take().ok_or_else(full)?;
            let carried = carry_out(&mut *self.session, &self.stream, &operation, self.shape);
            carried.map_err(Failure::from)?;
            let end_ticks = self.clock.ticks();
            self.executed += 1;
            let kind = self.place_of_kind[operation.kind as usize];
            done.push(Done { kind, ..Done::at(end_ticks) });
            if end_ticks >= end {
                break;
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        let mut of_all = self.store.counters();
        if !self.counts_all {
            of_all.iter_mut().for_each(|(_, count)| *count = 0);
        }
        of_all.extend(self.session.counters());
        Counts { counters: of_all, executed: self.executed, ..Counts::default() }
    }
}
