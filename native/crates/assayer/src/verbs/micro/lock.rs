//! Taking and releasing a lock, with a little work inside and outside.
//!
//! One pair takes a few ns, less than a clock read, so 64 of them are timed together and each is
//! recorded with their mean; fewer when the thread has waited for milliseconds meanwhile, which
//! happens to fair locks with more threads than CPUs. What a lock guards is a counter on its own
//! cache lines: it proves
//! afterwards that no two threads were inside at once, and with a lock for each thread only the
//! locks themselves can share a cache line.

use core::cell::UnsafeCell;
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::time::Instant;

use assay_engine::Elision;
use assay_primitives::locks::{ElidedLock, FutexLock, McsLock, TicketLock, WordLock};
use assay_primitives::{Arena, Clock, LockContext, LockKind, LockTable, RawLock, htm};
use assay_workload::stream::Extras;

use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::measure::Measurement;
use crate::output::Output;
use crate::protocol::request::{LockWorkload, Locks, MicroParts, MicroRequest};
use crate::protocol::response::{
    Checked, HintManifest, LockManifest, MicroManifest, Phase, Ready, State,
};
use crate::verbs::{
    Ending, arena_memory, clock_response, elision_counters, hint, own_build_id, ran, result,
};

/// Pairs that are timed together; `latency_of` names the number.
const PAIRS_TIMED: u64 = 64;
/// Clock reads per batch.
const TIMED_PER_BATCH: usize = 4;
/// Waiting that ends a batch early.
const PATIENCE_NS: u64 = 1_000_000;

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
        LockKind::Tas | LockKind::Ttas | LockKind::Backoff => {
            run_with::<WordLock>(request, workload, output)
        }
        LockKind::Ticket => run_with::<TicketLock>(request, workload, output),
        LockKind::Mcs => run_with::<McsLock>(request, workload, output),
        LockKind::Futex => run_with::<FutexLock>(request, workload, output),
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
    let (parts, schedule) = (&request.parts, request.schedule());
    if ![0, 64, 128].contains(&parts.padding) {
        return Err(Failure::usage(format!("parts.padding is {}: 0, 64 or 128", parts.padding)));
    }
    let clock = Clock::calibrated();
    output.write("phase", &Phase { name: "load" })?;
    let started = Instant::now();
    let hint = hint::put_in_force(parts.hint, parts.hint_ns, parts.hint_repeats, &clock)?;
    let (limit, retries) = (parts.spin_limit, parts.elision_retries);
    let waiting = parts.elision.waiting(parts.lock, parts.hint, limit, retries, clock)?;
    // At least two, so that the stride can be measured.
    let count = schedule.threads.max(2);
    let arena = Arena::new(LockTable::<L>::bytes(count, parts.padding), parts.pages)?;
    let locks = LockTable::<L>::new(&arena, count, parts.padding)
        .ok_or_else(|| anyhow::anyhow!("the arena has no room for {count} locks"))?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let guarded: Vec<Guarded> = (0..count).map(|_| Guarded::default()).collect();
    let executed = AtomicU64::new(0);
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &["lock"],
        clock,
        server: None,
        beside: Vec::new(),
    };
    let is_elided = parts.elision == Elision::On;
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        let index = if workload.locks == Locks::Each { thread } else { 0 };
        let (lock, guarded) = (locks.lock(index), &guarded[index]);
        let extras = Extras::every(parts.repeat_every);
        let waiter = LockContext::new(waiting);
        let (pairs, outside, executed) = (0, thread as u64, &executed);
        let workload = workload.clone();
        let unit = LockUnit {
            lock,
            guarded,
            waiter,
            clock,
            workload,
            is_elided,
            extras,
            pairs,
            outside,
            executed,
        };
        Ok(Box::new(unit))
    };
    let ready = |output: &mut Output| {
        let stride = locks.measured_stride_bytes();
        let manifest = manifest(parts, hint, stride, &arena, &measurement, started)?;
        let build_id = own_build_id()?;
        let ready = Ready { verb: "micro", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let waits = measured.counts.contention.iter().map(|(_, class)| class.waits).sum();
    let ending = Ending {
        latency_of: "batches of 64",
        ran: vec![ran("lock_slow", waiting.address(), waits)],
        memory: Some(arena.obtained()?),
        state: state(guarded, executed.into_inner()),
    };
    output.write("result", &result(&measurement, &measured, ending)?)
}

/// The counters behind the locks must add up to the pairs that the threads say they did.
fn state(guarded: Vec<Guarded>, executed: u64) -> State {
    let inside: u64 = guarded.into_iter().map(|guarded| guarded.0.into_inner().pairs).sum();
    State::of(inside, inside == executed)
}

fn manifest(
    parts: &MicroParts,
    hint: HintManifest,
    lock_stride_bytes: usize,
    arena: &Arena,
    measurement: &Measurement<'_>,
    started: Instant,
) -> Result<MicroManifest, Failure> {
    Ok(MicroManifest {
        lock: Some(LockManifest {
            hint,
            lock: parts.lock.name(),
            elision: parts.elision.name(),
            elision_retries: parts.elision_retries,
            htm: htm::state().0.name(),
            spin_limit: parts.spin_limit,
            padding: parts.padding,
            lock_stride_bytes,
        }),
        crc32c: None,
        chosen: BTreeMap::new(),
        pages: parts.pages.name(),
        repeat_every: parts.repeat_every,
        threads: measurement.cpus.len(),
        cpus: measurement.cpus.to_vec(),
        memory: arena_memory(arena.obtained()?),
        clock: clock_response(&measurement.clock),
        load_s: started.elapsed().as_secs_f64(),
    })
}

struct LockUnit<'a, L: RawLock> {
    lock: &'a L,
    guarded: &'a Guarded,
    waiter: LockContext<L>,
    clock: Clock,
    workload: LockWorkload,
    is_elided: bool,
    extras: Extras,
    pairs: u64,
    outside: u64,
    executed: &'a AtomicU64,
}

/// A multiply-add that the compiler cannot shorten: Knuth's MMIX constants.
#[inline(always)]
fn multiply_add(value: u64, times: u32) -> u64 {
    (0..times).fold(value, |value, _| {
        value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
    })
}

impl<L: RawLock> LockUnit<'_, L> {
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
        self.pairs += 1;
    }
}

impl<L: RawLock> Unit for LockUnit<'_, L> {
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        let patience_ticks = self.clock.ticks_of_ns(PATIENCE_NS);
        for _ in 0..TIMED_PER_BATCH {
            let waited_before = self.waiter.counts().wait_ticks;
            let mut operations = 0;
            let mut is_patient = true;
            while operations < PAIRS_TIMED && is_patient {
                self.pair();
                operations += u64::from(!self.extras.is_extra());
                is_patient = self.waiter.counts().wait_ticks - waited_before < patience_ticks;
            }
            done.push(Done {
                since: None,
                end_ticks: self.clock.ticks(),
                kind: 0,
                operations,
                is_error: false,
                is_extra: false,
                sent: None,
            });
            if !is_patient {
                break;
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts {
            contention: vec![("lock", self.waiter.counts())],
            counters: if self.is_elided {
                elision_counters!("lock", self.waiter.elision()).into()
            } else {
                Vec::new()
            },
            executed: self.pairs,
            ..Counts::default()
        }
    }
}

impl<L: RawLock> Drop for LockUnit<'_, L> {
    fn drop(&mut self) {
        self.executed.fetch_add(self.pairs, Ordering::Relaxed);
    }
}
