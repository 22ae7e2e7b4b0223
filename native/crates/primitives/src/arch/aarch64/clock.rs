//! The generic timer's virtual counter.
//!
//! Its rate is stated by CNTFRQ_EL0 and it never stops or changes speed (Arm ARM, "The Generic
//! Timer"). It is coarse on older cores: 24 or 25 MHz gives steps of 40 ns.

/// The name that results carry for this counter.
pub const SOURCE: &str = "cntvct";

/// Linux opens the counter to user space on every Armv8 host.
pub fn is_usable() -> bool {
    stated_hz().is_some()
}

/// The counter's rate as the CPU states it, unless firmware forgot to set it.
pub fn stated_hz() -> Option<u64> {
    let hz: u64;
    // SAFETY: CNTFRQ_EL0 is readable from user space under Linux and reading has no effect.
    unsafe {
        core::arch::asm!(
            "mrs {}, cntfrq_el0",
            out(reg) hz,
            options(nomem, nostack, preserves_flags),
        )
    }
    (hz > 0).then_some(hz)
}

/// The counter now. Not serialising: operations of a few ns may overlap the read.
#[inline(always)]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: CNTVCT_EL0 is readable from user space under Linux and reading has no effect.
    unsafe {
        core::arch::asm!(
            "mrs {}, cntvct_el0",
            out(reg) ticks,
            options(nomem, nostack, preserves_flags),
        )
    }
    ticks
}
