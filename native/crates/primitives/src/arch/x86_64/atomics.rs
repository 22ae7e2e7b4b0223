//! x86-64 has one way of atomic read-modify-write: the `lock` prefix (implied by `xchg`).

use crate::atomics::{AtomicOperation, Atomics, Function, StdAtomics, atomic_functions};
use crate::support::Support;

atomic_functions! {
    assay_atomic_add_std = add StdAtomics;
    assay_atomic_cas_std = cas StdAtomics;
    assay_atomic_lock_std = lock StdAtomics;
}

/// What this CPU has for a flavour.
pub fn function(atomics: Atomics, operation: AtomicOperation) -> Support<Function> {
    match (atomics, operation) {
        (Atomics::Std, AtomicOperation::Add) => Support::Here(assay_atomic_add_std),
        (Atomics::Std, AtomicOperation::Cas) => Support::Here(assay_atomic_cas_std),
        (Atomics::Std, AtomicOperation::Lock) => Support::Here(assay_atomic_lock_std),
        (Atomics::LlSc | Atomics::Lse, _) => Support::Foreign,
    }
}
