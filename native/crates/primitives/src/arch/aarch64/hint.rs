//! The spin hints that only Arm has.
//!
//! `yield` does nothing on a core without hardware threads, which is why several projects (Rust's
//! std in rust-lang/rust#84725, jemalloc, WiredTiger) wait with `isb` instead: it drains the
//! pipeline and costs tens of cycles. `sb` does the same on newer cores at other costs.
//!
//! `wfe` stops the core until an event. Here no exclusive monitor watches the lock's word, so the
//! event is the kernel's event stream: a timer, every 100 microseconds on most kernels. A look in
//! between would need the word's address, which a hint does not have; without an event stream the
//! core could stop for ever, so the hint is then refused. `wfet` ends by itself after about a
//! microsecond.

use crate::arch::all::hint::{Nop, Nothing, Repeat, hint};
use crate::arch::current::clock;
use crate::hint::Hint;

/// Executes instructions `$count` times, at least once.
macro_rules! counted {
    ($count:expr, $($instruction:literal),*) => {
        core::arch::asm!(
            "2:",
            $($instruction,)*
            "subs {left:w}, {left:w}, #1",
            "b.hi 2b",
            left = inout(reg) $count => _,
            options(nomem, nostack),
        )
    };
}

pub(crate) use counted;

hint! {
    /// The `yield` instruction.
    Yield: "yield"
}

hint! {
    /// The `isb sy` barrier.
    Isb: "isb sy"
}

hint! {
    /// The speculation barrier `sb`, as a word: assemblers know it only with its extension.
    Sb: ".inst 0xd50330ff"
}

hint! {
    /// Waits for an event.
    Wfe: "wfe"
}

/// Waits for an event, for about a microsecond at most.
pub struct Wfet;

/// The least part of a second that `wfet` waits.
const WFET_PER_S: u64 = 1_000_000;

impl Repeat for Wfet {
    #[inline(always)]
    fn times(count: u32) {
        let step = clock::stated_hz().unwrap_or(WFET_PER_S) / WFET_PER_S;
        for _ in 0..count.max(1) {
            let until = clock::ticks() + step.max(1);
            // SAFETY: `wfet x0` (as a word: assemblers know it only with its extension) waits until
            // the counter reaches x0 and changes no register, flag or memory.
            unsafe {
                core::arch::asm!(
                    ".inst 0xd5031000",
                    in("x0") until,
                    options(nomem, nostack, preserves_flags),
                )
            }
        }
    }
}

/// The hints of this architecture.
pub const HINTS: &[Hint] =
    &[Hint::None, Hint::Nop, Hint::Yield, Hint::Isb, Hint::Sb, Hint::Wfe, Hint::Wfet];

/// What this very CPU or kernel lacks for one of `HINTS`, by Linux's name of the capability.
pub fn lack(hint: Hint) -> Option<&'static str> {
    let (word, bit, name) = match hint {
        Hint::Sb => (libc::AT_HWCAP, 29, "sb"),
        Hint::Wfe => (libc::AT_HWCAP, 2, "evtstrm"),
        Hint::Wfet => (libc::AT_HWCAP2, 31, "wfxt"),
        _ => return None,
    };
    // SAFETY: getauxval reads the process's auxiliary vector and has no precondition.
    let has_it = unsafe { libc::getauxval(word) } & (1 << bit) != 0;
    (!has_it).then_some(name)
}

/// A function that executes `hint` the given number of times, for calibration.
pub fn repeat(hint: Hint) -> Option<fn(u32)> {
    match hint {
        Hint::None => Some(crate::hint::repeat::<Nothing>),
        Hint::Nop => Some(crate::hint::repeat::<Nop>),
        Hint::Yield => Some(crate::hint::repeat::<Yield>),
        Hint::Isb => Some(crate::hint::repeat::<Isb>),
        Hint::Sb => Some(crate::hint::repeat::<Sb>),
        Hint::Wfe => Some(crate::hint::repeat::<Wfe>),
        Hint::Wfet => Some(crate::hint::repeat::<Wfet>),
        Hint::Pause | Hint::DoublePause => None,
    }
}
