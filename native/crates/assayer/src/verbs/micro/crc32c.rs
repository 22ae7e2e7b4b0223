//! The CRC32C of a buffer, again and again, each value compared with the bytewise one.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::time::Instant;

use assay_primitives::{Arena, Clock, Crc32c, Crc32cLevel};
use assay_workload::random::Random;
use assay_workload::stream::Extras;

use crate::driver::{Counts, Done, Unit};
use crate::failure::Failure;
use crate::measure::Measurement;
use crate::output::Output;
use crate::protocol::request::{Crc32cWorkload, MicroParts, MicroRequest};
use crate::protocol::response::{Checked, MicroManifest, Phase, Ready, State};
use crate::verbs::{Ending, arena_memory, clock_response, own_build_id, ran, result};

/// Buffers between two looks at the stop flag.
const BATCH: usize = 8;
const BUFFER_ALIGNMENT: usize = 4096;
const BUFFER_BYTES_MAX: usize = 1 << 30;

/// Runs the workload.
pub fn run(
    request: &MicroRequest,
    workload: &Crc32cWorkload,
    output: &mut Output,
) -> Result<(), Failure> {
    let (parts, schedule) = (&request.parts, request.schedule());
    let bytes = workload.buffer_bytes;
    if !(1..=BUFFER_BYTES_MAX).contains(&bytes) {
        let message = format!("workload.buffer_bytes is {bytes}: from 1 to {BUFFER_BYTES_MAX}");
        return Err(Failure::usage(message));
    }
    let clock = Clock::calibrated();
    output.write("phase", &Phase { name: "load" })?;
    let started = Instant::now();
    let crc32c = Crc32c::new(parts.crc32c.level(bytes))?;
    let room = schedule.threads * (bytes.next_multiple_of(BUFFER_ALIGNMENT) + BUFFER_ALIGNMENT);
    let arena = Arena::new(room, parts.pages)?;
    if request.check_only {
        return output.write("checked", &Checked {});
    }
    let totals = Totals::default();
    let cpus = schedule.cpus();
    let measurement = Measurement {
        schedule: &schedule,
        cpus: &cpus,
        kinds: &["crc32c"],
        clock,
        server: None,
        beside: Vec::new(),
    };
    let make_unit = |thread: usize| -> Result<Box<dyn Unit + '_>, Failure> {
        let buffer = buffer(&arena, bytes, Random::new(schedule.seed, thread as u64))?;
        let expected = Crc32c::new(Crc32cLevel::Bytewise)?.checksum(buffer);
        let extras = Extras::every(parts.repeat_every);
        let (buffers, totals) = (0, &totals);
        Ok(Box::new(CrcUnit { crc32c, buffer, expected, clock, extras, buffers, totals }))
    };
    let ready = |output: &mut Output| {
        let manifest = manifest(parts, crc32c.level(), &arena, &measurement, started)?;
        let build_id = own_build_id()?;
        let ready = Ready { verb: "micro", pid: std::process::id(), build_id: &build_id, manifest };
        output.write("ready", &ready)
    };
    let measured = measurement.run(make_unit, ready, output)?;
    output.write("health", &measured.health)?;
    let ending = Ending {
        latency_of: "operations",
        ran: vec![ran("crc32c", crc32c.address(), measured.counts.executed)],
        memory: Some(arena.obtained()?),
        state: State::of(totals.buffers.into_inner(), !totals.has_mismatch.into_inner()),
    };
    output.write("result", &result(&measurement, &measured, ending)?)
}

#[derive(Default)]
struct Totals {
    buffers: AtomicU64,
    has_mismatch: AtomicBool,
}

fn buffer(arena: &Arena, bytes: usize, mut random: Random) -> Result<&[u8], Failure> {
    let memory = arena
        .carve(bytes, BUFFER_ALIGNMENT)
        .ok_or_else(|| anyhow::anyhow!("the arena has no room for a buffer of {bytes} bytes"))?;
    // SAFETY: the arena handed out these zeroed bytes to nobody else, and outlives the slice.
    let buffer = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), bytes) };
    buffer.fill_with(|| random.bits() as u8);
    Ok(buffer)
}

fn manifest(
    parts: &MicroParts,
    level: Crc32cLevel,
    arena: &Arena,
    measurement: &Measurement<'_>,
    started: Instant,
) -> Result<MicroManifest, Failure> {
    Ok(MicroManifest {
        lock: None,
        crc32c: Some(level.name()),
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

struct CrcUnit<'a> {
    crc32c: Crc32c,
    buffer: &'a [u8],
    expected: u32,
    clock: Clock,
    extras: Extras,
    buffers: u64,
    totals: &'a Totals,
}

impl CrcUnit<'_> {
    #[inline(always)]
    fn is_right(&mut self) -> bool {
        self.buffers += 1;
        self.crc32c.checksum(black_box(self.buffer)) == self.expected
    }
}

impl Unit for CrcUnit<'_> {
    fn run(&mut self, done: &mut Vec<Done>) -> Result<(), Failure> {
        while done.len() < BATCH {
            let is_right = self.is_right();
            let end_ticks = self.clock.ticks();
            if !is_right {
                self.totals.has_mismatch.store(true, Ordering::Relaxed);
            }
            let is_extra = self.extras.is_extra();
            done.push(Done {
                since: None,
                end_ticks,
                kind: 0,
                operations: 1,
                is_error: !is_right,
                is_extra,
                sent: None,
            });
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts { executed: self.buffers, ..Counts::default() }
    }
}

impl Drop for CrcUnit<'_> {
    fn drop(&mut self) {
        self.totals.buffers.fetch_add(self.buffers, Ordering::Relaxed);
    }
}
