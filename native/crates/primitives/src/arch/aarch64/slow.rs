//! Every lock kind with every hint of aarch64: one exported symbol each.

use crate::arch::all::hint::{Nop, Nothing};
use crate::arch::current::hint::{Isb, Sb, Wfe, Wfet, Yield};
use crate::hint::Hint;
use crate::locks::LockKind;
use crate::locks::slow::slow_paths;

slow_paths! {
    (Tas, tas_slow):
        None Nothing assay_lock_tas_slow_none,
        Nop Nop assay_lock_tas_slow_nop,
        Yield Yield assay_lock_tas_slow_yield,
        Isb Isb assay_lock_tas_slow_isb,
        Sb Sb assay_lock_tas_slow_sb,
        Wfe Wfe assay_lock_tas_slow_wfe,
        Wfet Wfet assay_lock_tas_slow_wfet;
    (Ttas, ttas_slow):
        None Nothing assay_lock_ttas_slow_none,
        Nop Nop assay_lock_ttas_slow_nop,
        Yield Yield assay_lock_ttas_slow_yield,
        Isb Isb assay_lock_ttas_slow_isb,
        Sb Sb assay_lock_ttas_slow_sb,
        Wfe Wfe assay_lock_ttas_slow_wfe,
        Wfet Wfet assay_lock_ttas_slow_wfet;
    (Backoff, backoff_slow):
        None Nothing assay_lock_backoff_slow_none,
        Nop Nop assay_lock_backoff_slow_nop,
        Yield Yield assay_lock_backoff_slow_yield,
        Isb Isb assay_lock_backoff_slow_isb,
        Sb Sb assay_lock_backoff_slow_sb,
        Wfe Wfe assay_lock_backoff_slow_wfe,
        Wfet Wfet assay_lock_backoff_slow_wfet;
    (Ticket, ticket_slow):
        None Nothing assay_lock_ticket_slow_none,
        Nop Nop assay_lock_ticket_slow_nop,
        Yield Yield assay_lock_ticket_slow_yield,
        Isb Isb assay_lock_ticket_slow_isb,
        Sb Sb assay_lock_ticket_slow_sb,
        Wfe Wfe assay_lock_ticket_slow_wfe,
        Wfet Wfet assay_lock_ticket_slow_wfet;
    (Mcs, mcs_slow):
        None Nothing assay_lock_mcs_slow_none,
        Nop Nop assay_lock_mcs_slow_nop,
        Yield Yield assay_lock_mcs_slow_yield,
        Isb Isb assay_lock_mcs_slow_isb,
        Sb Sb assay_lock_mcs_slow_sb,
        Wfe Wfe assay_lock_mcs_slow_wfe,
        Wfet Wfet assay_lock_mcs_slow_wfet;
    (Futex, futex_slow):
        None Nothing assay_lock_futex_slow_none,
        Nop Nop assay_lock_futex_slow_nop,
        Yield Yield assay_lock_futex_slow_yield,
        Isb Isb assay_lock_futex_slow_isb,
        Sb Sb assay_lock_futex_slow_sb,
        Wfe Wfe assay_lock_futex_slow_wfe,
        Wfet Wfet assay_lock_futex_slow_wfet;
}
