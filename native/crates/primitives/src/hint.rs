//! Spin hints: which exist, which this CPU has, and what one costs.
//!
//! A hint is executed only while a thread waits for a lock. Its cost differs fifteenfold between
//! CPU generations, so results carry the measured cost next to the name.

use crate::arch::all::hint::Relax;
use crate::arch::current::hint as current;
use crate::{Clock, PrimitiveError};

/// What a waiting thread executes between two looks at the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing at all.
    None,
    /// A plain `nop`.
    Nop,
    /// x86 `pause`.
    Pause,
    /// Arm `yield`.
    Yield,
    /// Arm `isb sy`.
    Isb,
}

impl Hint {
    /// Every hint of every architecture.
    pub const ALL: [Hint; 5] = [Hint::None, Hint::Nop, Hint::Pause, Hint::Yield, Hint::Isb];

    /// The name used in requests and results.
    pub fn name(self) -> &'static str {
        match self {
            Hint::None => "none",
            Hint::Nop => "nop",
            Hint::Pause => "pause",
            Hint::Yield => "yield",
            Hint::Isb => "isb",
        }
    }

    /// The hints that this CPU architecture has.
    pub fn available() -> &'static [Hint] {
        current::HINTS
    }

    /// Refuses a hint of another architecture.
    pub fn require(self) -> Result<(), PrimitiveError> {
        if current::HINTS.contains(&self) {
            return Ok(());
        }
        let names: Vec<&str> = current::HINTS.iter().map(|hint| hint.name()).collect();
        Err(PrimitiveError::Missing {
            what: format!("hint `{}` does not exist on {}", self.name(), std::env::consts::ARCH),
            next: format!("choose one of: {}", names.join(", ")),
        })
    }

    /// The cost of one hint in nanoseconds, beyond that of the loop around it; `None` for a hint of
    /// another architecture. The best of several rounds, because a round can be interrupted.
    pub fn calibrate(self, clock: &Clock) -> Option<f64> {
        let bare = best_ns(current::repeat(Hint::None)?, clock);
        let hinted = best_ns(current::repeat(self)?, clock);
        Some(if self == Hint::None { 0.0 } else { (hinted - bare).max(0.0) })
    }
}

const ROUNDS: usize = 7;
const HINTS_PER_ROUND: u32 = 4096;

fn best_ns(repeat: fn(u32), clock: &Clock) -> f64 {
    let round = || {
        let start = clock.ticks();
        repeat(HINTS_PER_ROUND);
        clock.ns_between(start, clock.ticks()) as f64 / f64::from(HINTS_PER_ROUND)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Executes a hint `count` times, for calibration only.
#[inline(never)]
pub(crate) fn repeat<R: Relax>(count: u32) {
    for _ in 0..count {
        R::relax();
        // The loop itself must survive for the hint that executes nothing.
        std::hint::black_box(());
    }
}
