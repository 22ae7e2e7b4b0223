//! A value that the compiler knows nothing about.

/// Returns the pointer. The compiler must take it for any pointer: what is read through it cannot
/// be remembered from an earlier read, nor can reads be joined to vectors. Costs no instruction.
#[inline(always)]
pub fn launder<T>(pointer: *const T) -> *const T {
    let mut pointer = pointer;
    // SAFETY: an empty template executes nothing.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) pointer, options(nostack, preserves_flags));
    }
    pointer
}
