//! Restricted transactional memory (RTM), and waiting for an elided lock with every hint.

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;

use crate::arch::all::hint::{Nop, Nothing};
use crate::arch::current::hint::{DoublePause, Pause};
use crate::hint::Hint;
use crate::htm::{AbortCode, Begun, Htm, HtmState, LOCK_HELD_ARGUMENT, TRIALS, decide};
use crate::locks::elided::{elided_slow, elided_slow_paths};

/// The transactions of this CPU.
pub type Transactions = Rtm;

/// RTM's instructions. Only for a CPU that lists `rtm`, which `htm::require` sees to.
pub struct Rtm;

/// What `eax` keeps when a transaction starts.
const STARTED: u32 = u32::MAX;

impl Htm for Rtm {
    #[inline(always)]
    fn begin() -> Begun {
        let status: u32;
        // SAFETY: an abort jumps to label 2 with registers and memory as they were here and the
        // status in eax. To the compiler the two ways are one instruction with two outcomes.
        unsafe {
            asm!("xbegin 2f", "2:", inout("eax") STARTED => status, options(nostack));
        }
        if status == STARTED { Begun::Started } else { Begun::Aborted(AbortCode(status)) }
    }

    #[inline(always)]
    unsafe fn end() {
        // SAFETY: the caller is in a transaction; elsewhere `xend` would be a fault.
        unsafe { asm!("xend", options(nostack)) };
    }

    #[inline(always)]
    fn abort() {
        // SAFETY: goes back to `begin`; does nothing outside a transaction.
        unsafe { asm!("xabort {}", const LOCK_HELD_ARGUMENT, options(nostack)) };
    }
}

/// Asks the CPU, and runs empty transactions if it has them.
pub fn detect() -> (HtmState, String) {
    const RTM_ALWAYS_ABORT: u32 = 1 << 11;
    // Leaf 0 gives the highest leaf; leaf 7 beyond it would be another leaf's answer.
    let has_leaf_7 = __cpuid_count(0, 0).eax >= 7;
    let always_aborts = has_leaf_7 && __cpuid_count(7, 0).edx & RTM_ALWAYS_ABORT != 0;
    decide(is_x86_feature_detected!("rtm"), always_aborts, commits)
}

fn commits() -> u32 {
    let commit = |_: &u32| {
        let is_started = Rtm::begin() == Begun::Started;
        if is_started {
            // SAFETY: `begin` has just started a transaction.
            unsafe { Rtm::end() };
        }
        is_started
    };
    (0..TRIALS).filter(commit).count() as u32
}

elided_slow_paths! {
    Rtm: None Nothing assay_lock_ttas_slow_none_elided,
        Nop Nop assay_lock_ttas_slow_nop_elided, Pause Pause assay_lock_ttas_slow_pause_elided,
        DoublePause DoublePause assay_lock_ttas_slow_double_pause_elided;
}
