//! A direct call. In assembler, because the compiler calls through a table of addresses whenever it
//! cannot be sure that the callee is in the same object file, and that is an indirect call.

use core::arch::asm;

use crate::calls::{Plain, step};

/// Calls `step`.
#[inline(always)]
pub(crate) fn call_directly(plain: &Plain, value: u64) -> u64 {
    let result;
    // SAFETY: the callee follows the C calling convention, and so do operands and clobbers.
    unsafe {
        asm!(
            "call {callee}",
            callee = sym step,
            in("rdi") plain,
            in("rsi") value,
            lateout("rax") result,
            clobber_abi("C"),
        )
    }
    result
}
