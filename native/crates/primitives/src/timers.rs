//! Reading the time, in every way that programs do.
//!
//! A read through the kernel's page of code (vDSO) costs a few times what the CPU's counter does;
//! the ordered forms wait until everything before them is done. MDEV-23249 taught MariaDB the
//! counter of aarch64. Each is a function of its own, `assay_timer_SOURCE`, with the loop inside.

use std::time::Instant;

use crate::PrimitiveError;
use crate::arch::current::timers as current;
use crate::clock::kernel_ns;
use crate::named;
use crate::support::Support;

named! {
    /// Where the time is read.
    pub enum Timer {
        /// `clock_gettime(CLOCK_MONOTONIC)`.
        ClockGettime "clock-gettime",
        /// The standard library's `Instant`.
        Instant "instant",
        /// x86's time-stamp counter.
        Rdtsc "rdtsc",
        /// The same, once all before it is done.
        Rdtscp "rdtscp",
        /// Arm's generic timer.
        Cntvct "cntvct",
        /// The same, behind an instruction barrier.
        IsbCntvct "isb-cntvct",
    }
}

/// Reads the time so often, and returns 1 if it never ran backwards.
pub type Function = unsafe extern "C" fn(times: u64) -> u64;

/// The function of a source, or why there is none here.
pub fn function(timer: Timer) -> Result<Function, PrimitiveError> {
    let support = match timer {
        Timer::ClockGettime => Support::Here(assay_timer_clock_gettime as Function),
        Timer::Instant => Support::Here(assay_timer_instant as Function),
        _ => current::function(timer),
    };
    support.require(
        &format!("timer `{}`", timer.name()),
        "choose timer `clock-gettime` or `instant`, or this CPU's own",
    )
}

/// Reads again and again; 1 if no reading is below the one before.
#[inline(always)]
pub(crate) fn is_forward(times: u64, read: impl Fn() -> u64) -> u64 {
    let mut last = 0;
    let mut is_forward = true;
    for _ in 0..times {
        let now = read();
        is_forward &= now >= last;
        last = now;
    }
    u64::from(is_forward)
}

/// Reads CLOCK_MONOTONIC.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn assay_timer_clock_gettime(times: u64) -> u64 {
    is_forward(times, || kernel_ns(libc::CLOCK_MONOTONIC))
}

/// Reads `Instant::now`.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn assay_timer_instant(times: u64) -> u64 {
    let start = Instant::now();
    is_forward(times, || start.elapsed().as_nanos() as u64)
}
