//! The generic timer's virtual counter, free and ordered.

use super::clock::ticks;
use crate::support::Support;
use crate::timers::{Function, Timer, is_forward};

/// Reads the counter.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn assay_timer_cntvct(times: u64) -> u64 {
    is_forward(times, ticks)
}

/// Reads the counter once all instructions before are done.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn assay_timer_isb_cntvct(times: u64) -> u64 {
    is_forward(times, || {
        // SAFETY: an instruction barrier changes no register, flag or memory.
        unsafe { core::arch::asm!("isb sy", options(nostack, preserves_flags)) }
        ticks()
    })
}

/// What this CPU has for a source.
pub fn function(timer: Timer) -> Support<Function> {
    match timer {
        Timer::Cntvct => Support::Here(assay_timer_cntvct as Function),
        Timer::IsbCntvct => Support::Here(assay_timer_isb_cntvct as Function),
        _ => Support::Foreign,
    }
}
