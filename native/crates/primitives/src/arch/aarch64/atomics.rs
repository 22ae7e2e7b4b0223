//! aarch64's two ways of atomic read-modify-write, and the compiler's choice between them.
//!
//! `std` is what this program was compiled to: by default calls of helpers that look up once
//! whether the CPU has LSE. `ll-sc` and `lse` are assembler, so that one binary holds both.

use core::arch::asm;
use core::sync::atomic::AtomicU64;
use std::arch::is_aarch64_feature_detected;

use crate::atomics::{AtomicOperation, Atomics, Flavour, Function, StdAtomics, atomic_functions};
use crate::support::Support;

struct LlSc;

impl Flavour for LlSc {
    #[inline(always)]
    fn increment(word: &AtomicU64) {
        // SAFETY: the word is borrowed; exclusives on it are how its type works here.
        unsafe {
            asm!(
                "2:",
                "ldaxr {value}, [{word}]",
                "add {value}, {value}, #1",
                "stlxr {failed:w}, {value}, [{word}]",
                "cbnz {failed:w}, 2b",
                word = in(reg) word.as_ptr(),
                value = out(reg) _,
                failed = out(reg) _,
                options(nostack, preserves_flags),
            )
        }
    }

    #[inline(always)]
    fn compare_exchange(word: &AtomicU64, old: u64, new: u64) -> u64 {
        let seen;
        // SAFETY: as above.
        unsafe {
            asm!(
                "2:",
                "ldaxr {seen}, [{word}]",
                "cmp {seen}, {old}",
                "b.ne 3f",
                "stlxr {failed:w}, {new}, [{word}]",
                "cbnz {failed:w}, 2b",
                "3:",
                word = in(reg) word.as_ptr(),
                old = in(reg) old,
                new = in(reg) new,
                seen = out(reg) seen,
                failed = out(reg) _,
                options(nostack),
            )
        }
        seen
    }

    #[inline(always)]
    fn exchange(word: &AtomicU64, new: u64) -> u64 {
        let seen;
        // SAFETY: as above.
        unsafe {
            asm!(
                "2:",
                "ldaxr {seen}, [{word}]",
                "stlxr {failed:w}, {new}, [{word}]",
                "cbnz {failed:w}, 2b",
                word = in(reg) word.as_ptr(),
                new = in(reg) new,
                seen = out(reg) seen,
                failed = out(reg) _,
                options(nostack, preserves_flags),
            )
        }
        seen
    }
}

struct Lse;

impl Flavour for Lse {
    #[inline(always)]
    fn increment(word: &AtomicU64) {
        // SAFETY: the word is borrowed, and `function` hands this out only where the CPU has LSE.
        unsafe {
            asm!(
                ".arch_extension lse",
                "ldaddal {one}, {seen}, [{word}]",
                word = in(reg) word.as_ptr(),
                one = in(reg) 1u64,
                seen = out(reg) _,
                options(nostack, preserves_flags),
            )
        }
    }

    #[inline(always)]
    fn compare_exchange(word: &AtomicU64, old: u64, new: u64) -> u64 {
        let mut seen = old;
        // SAFETY: as above.
        unsafe {
            asm!(
                ".arch_extension lse",
                "casal {seen}, {new}, [{word}]",
                word = in(reg) word.as_ptr(),
                new = in(reg) new,
                seen = inout(reg) seen,
                options(nostack, preserves_flags),
            )
        }
        seen
    }

    #[inline(always)]
    fn exchange(word: &AtomicU64, new: u64) -> u64 {
        let seen;
        // SAFETY: as above.
        unsafe {
            asm!(
                ".arch_extension lse",
                "swpal {new}, {seen}, [{word}]",
                word = in(reg) word.as_ptr(),
                new = in(reg) new,
                seen = out(reg) seen,
                options(nostack, preserves_flags),
            )
        }
        seen
    }
}

atomic_functions! {
    assay_atomic_add_std = add StdAtomics;
    assay_atomic_cas_std = cas StdAtomics;
    assay_atomic_lock_std = lock StdAtomics;
    assay_atomic_add_llsc = add LlSc;
    assay_atomic_cas_llsc = cas LlSc;
    assay_atomic_lock_llsc = lock LlSc;
    assay_atomic_add_lse = add Lse;
    assay_atomic_cas_lse = cas Lse;
    assay_atomic_lock_lse = lock Lse;
}

/// What this CPU has for a flavour. HWCAP's name of LSE is `atomics`.
pub fn function(atomics: Atomics, operation: AtomicOperation) -> Support<Function> {
    use AtomicOperation::{Add, Cas, Lock};
    if atomics == Atomics::Lse && !is_aarch64_feature_detected!("lse") {
        return Support::Lacking("atomics");
    }
    Support::Here(match (atomics, operation) {
        (Atomics::Std, Add) => assay_atomic_add_std,
        (Atomics::Std, Cas) => assay_atomic_cas_std,
        (Atomics::Std, Lock) => assay_atomic_lock_std,
        (Atomics::LlSc, Add) => assay_atomic_add_llsc,
        (Atomics::LlSc, Cas) => assay_atomic_cas_llsc,
        (Atomics::LlSc, Lock) => assay_atomic_lock_llsc,
        (Atomics::Lse, Add) => assay_atomic_add_lse,
        (Atomics::Lse, Cas) => assay_atomic_cas_lse,
        (Atomics::Lse, Lock) => assay_atomic_lock_lse,
    })
}
