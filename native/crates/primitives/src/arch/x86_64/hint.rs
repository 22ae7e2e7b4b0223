//! The spin hint that only x86 has.
//!
//! `pause` cost about 10 cycles up to Broadwell and about 140 from Skylake on (Intel 64 and IA-32
//! Architectures Optimization Reference Manual, "Pause Latency in Skylake Client
//! Microarchitecture"), so a count of pauses is not a time: `hint::calibrate` measures it.

use crate::arch::all::hint::{Nop, Nothing, Relax};
use crate::hint::Hint;

/// The `pause` instruction.
pub struct Pause;

impl Relax for Pause {
    #[inline(always)]
    fn relax() {
        // SAFETY: `pause` only delays; it changes no register, flag or memory.
        unsafe { core::arch::asm!("pause", options(nomem, nostack, preserves_flags)) }
    }
}

/// The hints of this architecture.
pub const HINTS: &[Hint] = &[Hint::None, Hint::Nop, Hint::Pause];

/// A function that executes `hint` the given number of times, for calibration.
pub fn repeat(hint: Hint) -> Option<fn(u32)> {
    match hint {
        Hint::None => Some(crate::hint::repeat::<Nothing>),
        Hint::Nop => Some(crate::hint::repeat::<Nop>),
        Hint::Pause => Some(crate::hint::repeat::<Pause>),
        Hint::Yield | Hint::Isb => None,
    }
}
