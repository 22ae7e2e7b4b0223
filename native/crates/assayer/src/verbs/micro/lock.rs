//! Taking and releasing a lock, with a little work inside and outside.
//!
//! A batch ends early when the thread has waited for milliseconds meanwhile, which happens to fair
//! locks with more threads than CPUs. What a lock guards is a counter on its own cache lines: it
//! proves afterwards that no two threads were inside at once, and with a lock for each thread only
//! the locks themselves can share a cache line.

use core::cell::UnsafeCell;
use core::hint::black_box;

use assay_engine::Elision;
use assay_primitives::locks::{ElidedLock, Waiting};
use assay_primitives::smaps::Mapped;
use assay_primitives::{Address, Arena, LockContext, LockKind, LockTable, RawLock, with_lock};
use serde_json::{Value, json};

use super::frame::{self, Kind, Share};
use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::request::{LockWorkload, Locks, MicroParts, MicroRequest};
use crate::protocol::response::{HintManifest, LockManifest, Ran};
use crate::verbs::run::ran;
use crate::verbs::{elision_counters, hint, waiting_manifest};
use assay_measure::Counts;

/// Waiting that ends a batch early.
const PATIENCE_NS: u64 = 1_000_000;
/// Pairs between two looks at how long was waited, at most: after the first there is one, because a
/// thread that waits long mostly does so at once.
const STRETCH: u64 = 64;
/// What no lock and no multiply-add is faster than.
const PAIR_NS: f64 = 2.0;
const STEP_NS: f64 = 0.75;

/// Runs the workload with the lock type that the kind selects.
pub fn run(
    request: &MicroRequest,
    workload: &LockWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    match request.parts.lock {
        LockKind::Ttas if request.parts.elision == Elision::On => {
            run_with::<ElidedLock>(request, workload, output)
        }
        kind => with_lock!(kind, L => run_with::<L>(request, workload, output)),
    }
}

/// Two cache lines for what a lock guards.
#[repr(align(128))]
#[derive(Default)]
struct Guarded(UnsafeCell<Inside>);

#[derive(Clone, Copy, Default)]
struct Inside {
    pairs: u64,
    work: u64,
}

// SAFETY: the content is reached only while holding the lock of the same index.
unsafe impl Sync for Guarded {}

fn run_with<L: RawLock>(
    request: &MicroRequest,
    workload: &LockWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let parts = &request.parts;
    if ![0, 64, 128].contains(&parts.padding) {
        return Err(Failure::usage(format!("parts.padding is {}: 0, 64 or 128", parts.padding)));
    }
    frame::run(request, output, |run| {
        let hint = hint::put_in_force(parts.hint, parts.hint_ns, parts.hint_repeats, &run.clock)?;
        let (limit, retries) = (parts.spin_limit, parts.elision_retries);
        let waiting = parts.elision.waiting(parts.lock, parts.hint, limit, retries, run.clock)?;
        // At least two, so that the stride can be measured.
        let count = run.schedule.threads.max(2);
        let arena = Arena::new(LockTable::<L>::bytes(count, parts.padding), parts.pages)?;
        let locks = LockTable::<L>::new(&arena, count, parts.padding)
            .ok_or_else(|| anyhow::anyhow!("the arena has no room for {count} locks"))?;
        let guarded = (0..count).map(|_| Guarded::default()).collect();
        let patience_ticks = run.clock.ticks_of_ns(PATIENCE_NS);
        let (parts, workload) = (parts.clone(), workload.clone());
        Ok(LockKindOf { parts, workload, hint, waiting, locks, arena, guarded, patience_ticks })
    })
}

struct LockKindOf<L: RawLock> {
    parts: MicroParts,
    workload: LockWorkload,
    hint: HintManifest,
    waiting: Waiting,
    locks: LockTable<L>,
    arena: Arena,
    guarded: Vec<Guarded>,
    patience_ticks: u64,
}

impl<L: RawLock> Kind for LockKindOf<L> {
    const NAME: &'static str = "lock";

    fn least_ns(&self) -> f64 {
        PAIR_NS + f64::from(self.workload.hold + self.workload.gap) * STEP_NS
    }

    fn address(&self) -> Address {
        self.waiting.address()
    }

    fn chosen(&self) -> Value {
        let parts = &self.parts;
        let waiting = waiting_manifest!(parts, self.hint);
        json!(LockManifest { waiting, lock_stride_bytes: self.locks.measured_stride_bytes() })
    }

    fn memory(&self) -> Result<Mapped, Failure> {
        Ok(self.arena.obtained()?)
    }

    fn share(&self, thread: usize) -> Result<Box<dyn Share + '_>, Failure> {
        let index = if self.workload.locks == Locks::Each { thread } else { 0 };
        Ok(Box::new(LockShare {
            lock: self.locks.lock(index),
            guarded: &self.guarded[index],
            waiter: LockContext::new(self.waiting),
            workload: self.workload.clone(),
            patience_ticks: self.patience_ticks,
            is_elided: self.parts.elision == Elision::On,
            outside: thread as u64,
        }))
    }

    /// The counters behind the locks must add up to the pairs that the threads say they did.
    fn is_sound(&mut self, executed: u64) -> bool {
        self.guarded.iter_mut().map(|guarded| guarded.0.get_mut().pairs).sum::<u64>() == executed
    }

    /// The waiting function, for which there is no other witness.
    fn ran(&self, counts: &Counts) -> Ran {
        let waits = counts.contention.iter().map(|(_, class)| class.waits).sum();
        ran("lock_slow", self.address(), waits)
    }
}

struct LockShare<'a, L: RawLock> {
    lock: &'a L,
    guarded: &'a Guarded,
    waiter: LockContext<L>,
    workload: LockWorkload,
    patience_ticks: u64,
    is_elided: bool,
    outside: u64,
}

/// A multiply-add that the compiler cannot shorten: Knuth's MMIX constants.
#[inline(always)]
fn multiply_add(value: u64, times: u32) -> u64 {
    (0..times).fold(value, |value, _| {
        value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    })
}

impl<L: RawLock> LockShare<'_, L> {
    #[inline(always)]
    fn pair(&mut self) {
        let (guarded, hold) = (self.guarded.0.get(), self.workload.hold);
        self.waiter.with(self.lock, || {
            // SAFETY: the lock that guards this content is held.
            let inside = unsafe { &mut *guarded };
            inside.pairs += 1;
            inside.work = multiply_add(inside.work, hold);
        });
        self.outside = black_box(multiply_add(self.outside, self.workload.gap));
    }
}

impl<L: RawLock> Share for LockShare<'_, L> {
    fn run(&mut self, times: u64) -> bool {
        (0..times).for_each(|_| self.pair());
        true
    }

    fn try_run(&mut self, times: u64) -> (u64, bool) {
        let until = self.waiter.counts().wait_ticks + self.patience_ticks;
        let mut pairs = 0;
        while pairs < times && self.waiter.counts().wait_ticks < until {
            let stretch = pairs.clamp(1, STRETCH).min(times - pairs);
            self.run(stretch);
            pairs += stretch;
        }
        (pairs, true)
    }

    fn counts(&self) -> Counts {
        let elisions = self.is_elided.then(|| elision_counters!("lock", self.waiter.elision()));
        Counts {
            contention: vec![("lock", self.waiter.counts())],
            counters: elisions.map_or(Vec::new(), Vec::from),
            ..Counts::default()
        }
    }
}
