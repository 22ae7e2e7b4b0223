//! The spin hints that both architectures have: nothing, and the one-instruction `nop`.
//!
//! `Nothing` is an empty `asm!`, not an empty function: without it the compiler deletes a counted
//! back-off loop altogether, which is what happens to nginx's loop on a CPU whose pause macro is
//! empty. Keeping the loop means that "no hint" still waits as long as the count says and only the
//! hint itself differs between arms.

/// One instruction (or none) executed while waiting for a lock.
pub trait Relax {
    /// Executes the hint once.
    fn relax();
}

/// No instruction, but the surrounding loop is kept.
pub struct Nothing;

impl Relax for Nothing {
    #[inline(always)]
    fn relax() {
        // SAFETY: an empty template executes nothing.
        unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) }
    }
}

/// The architecture's one-instruction `nop` (the byte 0x90 on x86-64).
pub struct Nop;

impl Relax for Nop {
    #[inline(always)]
    fn relax() {
        // SAFETY: `nop` changes no register, flag or memory.
        unsafe { core::arch::asm!("nop", options(nomem, nostack, preserves_flags)) }
    }
}
