//! Every lock kind with every hint of x86-64: one exported symbol each.

use crate::arch::all::hint::{Nop, Nothing};
use crate::arch::current::hint::{DoublePause, Pause};
use crate::hint::Hint;
use crate::locks::LockKind;
use crate::locks::slow::slow_paths;

slow_paths! {
    (Tas, tas_slow):
        None Nothing assay_lock_tas_slow_none,
        Nop Nop assay_lock_tas_slow_nop,
        Pause Pause assay_lock_tas_slow_pause,
        DoublePause DoublePause assay_lock_tas_slow_double_pause;
    (Ttas, ttas_slow):
        None Nothing assay_lock_ttas_slow_none,
        Nop Nop assay_lock_ttas_slow_nop,
        Pause Pause assay_lock_ttas_slow_pause,
        DoublePause DoublePause assay_lock_ttas_slow_double_pause;
    (Backoff, backoff_slow):
        None Nothing assay_lock_backoff_slow_none,
        Nop Nop assay_lock_backoff_slow_nop,
        Pause Pause assay_lock_backoff_slow_pause,
        DoublePause DoublePause assay_lock_backoff_slow_double_pause;
    (Ticket, ticket_slow):
        None Nothing assay_lock_ticket_slow_none,
        Nop Nop assay_lock_ticket_slow_nop,
        Pause Pause assay_lock_ticket_slow_pause,
        DoublePause DoublePause assay_lock_ticket_slow_double_pause;
    (Mcs, mcs_slow):
        None Nothing assay_lock_mcs_slow_none,
        Nop Nop assay_lock_mcs_slow_nop,
        Pause Pause assay_lock_mcs_slow_pause,
        DoublePause DoublePause assay_lock_mcs_slow_double_pause;
    (Futex, futex_slow):
        None Nothing assay_lock_futex_slow_none,
        Nop Nop assay_lock_futex_slow_nop,
        Pause Pause assay_lock_futex_slow_pause,
        DoublePause DoublePause assay_lock_futex_slow_double_pause;
}
