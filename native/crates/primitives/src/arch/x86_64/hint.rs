//! The spin hints that only x86 has.
//!
//! `pause` cost about 10 cycles up to Broadwell and about 140 from Skylake on (Intel 64 and IA-32
//! Architectures Optimization Reference Manual, "Pause Latency in Skylake Client
//! Microarchitecture"), so a count of pauses is not a time: `Hint::calibrate` measures it.

use crate::arch::all::hint::{Nop, Nothing, hint};
use crate::hint::Hint;

/// Executes instructions `$count` times, at least once.
macro_rules! counted {
    ($count:expr, $($instruction:literal),*) => {
        core::arch::asm!(
            "2:",
            $($instruction,)*
            "sub {left:e}, 1",
            "ja 2b",
            left = inout(reg) $count => _,
            options(nomem, nostack),
        )
    };
}

pub(crate) use counted;

hint! {
    /// The `pause` instruction.
    Pause: "pause"
}

hint! {
    /// Two `pause` instructions in a row.
    DoublePause: "pause", "pause"
}

/// The hints of this architecture.
pub const HINTS: &[Hint] = &[Hint::None, Hint::Nop, Hint::Pause, Hint::DoublePause];

/// What this very CPU or kernel lacks for one of `HINTS`: nothing here, all are baseline.
pub fn lack(_: Hint) -> Option<&'static str> {
    None
}

/// A function that executes `hint` the given number of times, for calibration.
pub fn repeat(hint: Hint) -> Option<fn(u32)> {
    match hint {
        Hint::None => Some(crate::hint::repeat::<Nothing>),
        Hint::Nop => Some(crate::hint::repeat::<Nop>),
        Hint::Pause => Some(crate::hint::repeat::<Pause>),
        Hint::DoublePause => Some(crate::hint::repeat::<DoublePause>),
        Hint::Yield | Hint::Isb | Hint::Sb | Hint::Wfe | Hint::Wfet => None,
    }
}
