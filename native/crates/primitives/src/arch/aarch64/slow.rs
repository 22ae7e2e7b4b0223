//! Every lock kind with every hint of aarch64: one exported symbol each.

use crate::arch::all::hint::{Nop, Nothing};
use crate::arch::current::hint::{Isb, Yield};
use crate::hint::Hint;
use crate::locks::LockKind;
use crate::locks::slow::slow_paths;

slow_paths! {
    (Tas, tas_slow): None Nothing assay_lock_tas_slow_none, Nop Nop assay_lock_tas_slow_nop,
        Yield Yield assay_lock_tas_slow_yield, Isb Isb assay_lock_tas_slow_isb;
    (Ttas, ttas_slow): None Nothing assay_lock_ttas_slow_none, Nop Nop assay_lock_ttas_slow_nop,
        Yield Yield assay_lock_ttas_slow_yield, Isb Isb assay_lock_ttas_slow_isb;
    (Backoff, backoff_slow): None Nothing assay_lock_backoff_slow_none,
        Nop Nop assay_lock_backoff_slow_nop, Yield Yield assay_lock_backoff_slow_yield,
        Isb Isb assay_lock_backoff_slow_isb;
    (Ticket, ticket_slow): None Nothing assay_lock_ticket_slow_none,
        Nop Nop assay_lock_ticket_slow_nop, Yield Yield assay_lock_ticket_slow_yield,
        Isb Isb assay_lock_ticket_slow_isb;
    (Mcs, mcs_slow): None Nothing assay_lock_mcs_slow_none, Nop Nop assay_lock_mcs_slow_nop,
        Yield Yield assay_lock_mcs_slow_yield, Isb Isb assay_lock_mcs_slow_isb;
    (Futex, futex_slow): None Nothing assay_lock_futex_slow_none,
        Nop Nop assay_lock_futex_slow_nop, Yield Yield assay_lock_futex_slow_yield,
        Isb Isb assay_lock_futex_slow_isb;
}
