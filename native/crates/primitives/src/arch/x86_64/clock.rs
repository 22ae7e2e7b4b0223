//! The time-stamp counter.
//!
//! It counts time only where it is invariant, which CPUID says in leaf 0x8000_0007, EDX bit 8
//! (AMD64 APM volume 2, 7.10; Intel SDM volume 3, "Invariant TSC").

use core::arch::x86_64::{__cpuid, _rdtsc};

/// The name that results carry for this counter.
pub const SOURCE: &str = "tsc";

/// Whether the counter runs at one speed in every state of the CPU.
pub fn is_usable() -> bool {
    let highest = __cpuid(0x8000_0000).eax;
    highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

/// The counter's rate as the CPU states it: never on x86-64, it has to be measured.
pub fn stated_hz() -> Option<u64> {
    None
}

/// The counter now. Not serialising: operations of a few ns may overlap the read.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has RDTSC, and Linux leaves it open to user space.
    unsafe { _rdtsc() }
}
