//! The spin hints that only Arm has.
//!
//! `yield` does nothing on a core without hardware threads, which is why several projects (Rust's
//! std in rust-lang/rust#84725, jemalloc, WiredTiger) wait with `isb` instead: it drains the
//! pipeline and costs tens of cycles.

use crate::arch::all::hint::{Nop, Nothing, Relax};
use crate::hint::Hint;

/// The `yield` instruction.
pub struct Yield;

impl Relax for Yield {
    #[inline(always)]
    fn relax() {
        // SAFETY: `yield` is a hint; it changes no register, flag or memory.
        unsafe { core::arch::asm!("yield", options(nomem, nostack, preserves_flags)) }
    }
}

/// The `isb sy` barrier.
pub struct Isb;

impl Relax for Isb {
    #[inline(always)]
    fn relax() {
        // SAFETY: an instruction barrier changes no register, flag or memory.
        unsafe { core::arch::asm!("isb sy", options(nomem, nostack, preserves_flags)) }
    }
}

/// The hints of this architecture.
pub const HINTS: &[Hint] = &[Hint::None, Hint::Nop, Hint::Yield, Hint::Isb];

/// A function that executes `hint` the given number of times, for calibration.
pub fn repeat(hint: Hint) -> Option<fn(u32)> {
    match hint {
        Hint::None => Some(crate::hint::repeat::<Nothing>),
        Hint::Nop => Some(crate::hint::repeat::<Nop>),
        Hint::Yield => Some(crate::hint::repeat::<Yield>),
        Hint::Isb => Some(crate::hint::repeat::<Isb>),
        Hint::Pause => None,
    }
}
