//! Loads that depend on each other, through memory on pages of a chosen kind.

use assay_primitives::chase::{self, Chase, LINE_BYTES, PLACES_MAX, Place, assay_chase};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Arena, Called};
use assay_random::Random;
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{ChaseWorkload, MicroRequest};

/// What the cycle's random numbers are for, among those of a seed.
const PURPOSE: u64 = 0xC4A5E;

/// More than a core's own caches hold: a load takes longer.
const CACHED_BYTES: usize = 4 << 20;

/// Runs the workload. All threads go through the same cycle, from places that lie apart.
pub fn run(
    request: &MicroRequest,
    workload: &ChaseWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let ChaseWorkload { bytes, stride } = *workload;
    check(bytes, stride)?;
    frame::run(request, output, |run| {
        let arena = Arena::new(bytes, request.parts.pages)?;
        let mut random = Random::new(run.schedule.seed, PURPOSE);
        let chase = Chase::new(&arena, bytes, stride, |bound| random.below(bound))
            .ok_or_else(|| anyhow::anyhow!("the arena has no room for {bytes} bytes"))?;
        let function = Called::new(assay_chase as chase::Function);
        Ok(ChaseKind { function, chase, stride, threads: run.schedule.threads, arena })
    })
}

fn check(bytes: usize, stride: usize) -> Result<(), Failure> {
    if stride < LINE_BYTES || !stride.is_multiple_of(LINE_BYTES) {
        let message = format!("workload.stride is {stride}: a multiple of {LINE_BYTES}");
        return Err(Failure::usage(message));
    }
    let places = bytes / stride;
    if (2..=PLACES_MAX).contains(&places) {
        return Ok(());
    }
    let message = format!(
        "workload.bytes is {bytes}, which is {places} places at a stride of {stride}: from 2 to \
         {PLACES_MAX}"
    );
    Err(Failure::usage(message))
}

struct ChaseKind {
    function: Called<chase::Function>,
    chase: Chase,
    stride: usize,
    threads: usize,
    arena: Arena,
}

impl Kind for ChaseKind {
    const NAME: &'static str = "chase";
    fn least_ns(&self) -> f64 {
        if self.arena.bytes() > CACHED_BYTES { 4.0 } else { 1.0 }
    }

    fn address(&self) -> Address {
        self.function.address()
    }

    fn chosen(&self) -> Value {
        json!({"chase_stride_bytes": self.stride, "places": self.chase.places()})
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let first = self.chase.places() / self.threads * thread;
        let (function, chase) = (self.function, &self.chase);
        Ok(Box::new(ChaseShare { function, chase, place: chase.place(first) }))
    }
}

struct ChaseShare<'a> {
    function: Called<chase::Function>,
    chase: &'a Chase,
    place: *const Place,
}

impl Share for ChaseShare<'_> {
    fn run(&mut self, times: u64) -> bool {
        let from = self.place;
        // SAFETY: the places are borrowed.
        self.place = unsafe { (self.function.function())(from, times) };
        // SAFETY: as above; both came from the chase.
        unsafe { self.chase.leads(from, times, self.place) }
    }
}
