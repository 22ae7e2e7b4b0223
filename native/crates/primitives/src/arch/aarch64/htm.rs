//! Transactions on Arm: none. The transactional memory extension (TME) is not exercised here, and
//! no CPU that this project could run on has it.

use crate::hint::Hint;
use crate::htm::{AbortCode, Begun, Htm, HtmState};
use crate::locks::SlowPath;

/// The transactions of this CPU.
pub type Transactions = NoTransactions;

/// Stands where another architecture has transactions: every one aborts, for good.
pub struct NoTransactions;

impl Htm for NoTransactions {
    #[inline(always)]
    fn begin() -> Begun {
        Begun::Aborted(AbortCode(0))
    }

    #[inline(always)]
    unsafe fn end() {}

    #[inline(always)]
    fn abort() {}
}

/// "Absent", whatever the CPU has.
pub fn detect() -> (HtmState, String) {
    (HtmState::Absent, "Arm's transactional memory extension is not exercised".to_owned())
}

/// None: there is nothing to wait with.
pub fn elided_slow_path(_: Hint) -> Option<SlowPath> {
    None
}
