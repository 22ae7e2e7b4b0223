//! The spin hints that both architectures have: nothing, and the one-instruction `nop`.
//!
//! A hint is an assembler loop that executes its instruction as often as the process's setting
//! says (`hint::repeats`, usually once). The loop is assembler for two reasons: the instruction
//! stands in the machine code exactly as often as its source says, so that a census can count it,
//! and the loop survives. A counted back-off loop around nothing is otherwise deleted by the
//! compiler, which is what happens to nginx's loop on a CPU whose pause macro is empty. Keeping it
//! means that "no hint" still waits as long as the count says and only the hint itself differs
//! between arms.

/// What is executed between two polls of a lock.
pub trait Relax {
    /// Executes the hint as often as the process's setting says.
    fn relax();
}

/// A hint that can be executed any number of times.
pub trait Repeat {
    /// Executes the hint `count` times, but at least once.
    fn times(count: u32);
}

impl<T: Repeat> Relax for T {
    #[inline(always)]
    fn relax() {
        T::times(crate::hint::repeats());
    }
}

/// Defines a hint: a type whose assembler loop holds exactly the instructions given.
macro_rules! hint {
    ($(#[$attribute:meta])* $name:ident: $($instruction:literal),*) => {
        $(#[$attribute])*
        pub struct $name;

        impl crate::arch::all::hint::Repeat for $name {
            #[inline(always)]
            fn times(count: u32) {
                // SAFETY: hints change no register, flag or memory; the loop changes its counter.
                unsafe { crate::arch::current::hint::counted!(count, $($instruction),*) }
            }
        }
    };
}

pub(crate) use hint;

hint! {
    /// No instruction, but the loop is kept.
    Nothing:
}

hint! {
    /// The architecture's one-instruction `nop` (the byte 0x90 on x86-64).
    Nop: "nop"
}
