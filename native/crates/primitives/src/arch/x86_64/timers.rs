//! The time-stamp counter, free and ordered.

use core::arch::x86_64::{__cpuid, __rdtscp, _rdtsc};

use crate::support::Support;
use crate::timers::{Function, Timer, is_forward};

/// Reads the counter.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn assay_timer_rdtsc(times: u64) -> u64 {
    // SAFETY: every x86-64 CPU has RDTSC, and Linux leaves it open to user space.
    is_forward(times, || unsafe { _rdtsc() })
}

/// Reads the counter once all instructions before are done.
///
/// # Safety
/// The CPU has RDTSCP.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn assay_timer_rdtscp(times: u64) -> u64 {
    is_forward(times, || {
        let mut processor = 0;
        // SAFETY: the caller promises the instruction; the processor's number is writable.
        unsafe { __rdtscp(&raw mut processor) }
    })
}

/// What this CPU has for a source.
pub fn function(timer: Timer) -> Support<Function> {
    match timer {
        Timer::Rdtsc => Support::Here(assay_timer_rdtsc as Function),
        Timer::Rdtscp if has_rdtscp() => Support::Here(assay_timer_rdtscp as Function),
        Timer::Rdtscp => Support::Lacking("rdtscp"),
        _ => Support::Foreign,
    }
}

/// CPUID leaf 0x8000_0001, EDX bit 27.
fn has_rdtscp() -> bool {
    let highest = __cpuid(0x8000_0000).eax;
    highest >= 0x8000_0001 && __cpuid(0x8000_0001).edx & (1 << 27) != 0
}
