//! The clock that times operations: the CPU's own counter where it can be trusted, the kernel's
//! monotonic clock where it cannot.
//!
//! One read costs about 10 ns by counter and 25 ns through the kernel, and there is one read per
//! operation, so the counter matters. Its rate is taken from the CPU where stated, and otherwise
//! measured against CLOCK_MONOTONIC_RAW over 20 ms, which is good to about 10 parts per million:
//! enough for latencies, and no throughput depends on it by more.

use crate::arch::current::clock as counter;

/// A way to read time as ticks, and to turn ticks into nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    has_counter: bool,
    hz: u64,
    /// Nanoseconds per tick as a 32.32 fixed-point number.
    ns_per_tick: u64,
}

const CALIBRATION_NS: u64 = 20_000_000;
const NS_PER_S: u64 = 1_000_000_000;

impl Clock {
    /// Chooses the best clock of this host and calibrates it (about 20 ms on x86-64).
    pub fn calibrated() -> Self {
        if !counter::is_usable() {
            return Self::of(false, NS_PER_S);
        }
        Self::of(true, counter::stated_hz().unwrap_or_else(measure_hz))
    }

    fn of(has_counter: bool, hz: u64) -> Self {
        let ns_per_tick = ((u128::from(NS_PER_S) << 32) / u128::from(hz)) as u64;
        Self { has_counter, hz, ns_per_tick }
    }

    /// The name of the source: `tsc`, `cntvct` or `clock_gettime`.
    pub fn source(&self) -> &'static str {
        if self.has_counter { counter::SOURCE } else { "clock_gettime" }
    }

    /// Ticks per second.
    pub fn hz(&self) -> u64 {
        self.hz
    }

    /// Ticks now. The branch is the same for the whole run, so it costs nothing measurable.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        if self.has_counter { counter::ticks() } else { kernel_ns(libc::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds from one reading to a later one; 0 when the later one is not later, which two
    /// CPUs whose counters differ by a few ticks can produce.
    #[inline(always)]
    pub fn ns_between(&self, start: u64, end: u64) -> u64 {
        self.ns(end.saturating_sub(start))
    }

    /// A number of ticks in nanoseconds.
    #[inline(always)]
    pub fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick)) >> 32) as u64
    }

    /// A duration in ticks.
    pub fn ticks_of_ns(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.hz) / u128::from(NS_PER_S)) as u64
    }
}

fn measure_hz() -> u64 {
    let (start_ns, start) = (kernel_ns(libc::CLOCK_MONOTONIC_RAW), counter::ticks());
    while kernel_ns(libc::CLOCK_MONOTONIC_RAW) - start_ns < CALIBRATION_NS {
        std::hint::spin_loop();
    }
    let (end_ns, end) = (kernel_ns(libc::CLOCK_MONOTONIC_RAW), counter::ticks());
    (u128::from(end - start) * u128::from(NS_PER_S) / u128::from(end_ns - start_ns)) as u64
}

/// A clock of the kernel, in nanoseconds.
pub fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the call to fill.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}
