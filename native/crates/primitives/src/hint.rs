//! Spin hints: which exist, which this CPU has, what one costs, and how often it is executed.
//!
//! A hint is executed only while a thread waits for a lock. Its cost differs fifteenfold between
//! CPU generations, so results carry the measured cost next to the name, and a wait may be asked
//! for in nanoseconds: `repeats_for` turns them into a count, which `set_repeats` puts in force.
//! A fixed count can be set too, because fixed counts are the fault (MariaDB executes 200 of
//! whatever its pause macro is on Arm, calibrated on x86 only).

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::arch::all::hint::Repeat;
use crate::arch::current::hint as current;
use crate::{Clock, PrimitiveError, named};

named! {
    /// What a waiting thread executes between two polls of the lock.
    pub enum Hint {
        /// Nothing at all.
        None "none",
        /// A plain `nop`.
        Nop "nop",
        /// x86 `pause`.
        Pause "pause",
        /// x86 `pause`, twice in a row.
        DoublePause "double-pause",
        /// Arm `yield`.
        Yield "yield",
        /// Arm `isb sy`.
        Isb "isb",
        /// Arm `sb`, of Armv8.5.
        Sb "sb",
        /// Arm `wfe`, ended by the kernel's event stream.
        Wfe "wfe",
        /// Arm `wfet`, of Armv8.7, for about a microsecond.
        Wfet "wfet",
    }
}

impl Hint {
    /// The hints that this very CPU and kernel have.
    pub fn available() -> &'static [Hint] {
        static HERE: OnceLock<Vec<Hint>> = OnceLock::new();
        let is_here = |hint: &Hint| current::lack(*hint).is_none();
        HERE.get_or_init(|| current::HINTS.iter().copied().filter(is_here).collect())
    }

    /// Refuses a hint of another architecture, and one that this CPU or kernel lacks.
    pub fn require(self) -> Result<(), PrimitiveError> {
        if Self::available().contains(&self) {
            return Ok(());
        }
        let what = match current::lack(self).filter(|_| current::HINTS.contains(&self)) {
            Some(feature) => format!("hint `{}` needs CPU feature {feature}", self.name()),
            None => format!("hint `{}` does not exist on {}", self.name(), std::env::consts::ARCH),
        };
        let names: Vec<&str> = Self::available().iter().map(|hint| hint.name()).collect();
        let next = format!("choose one of: {}", names.join(", "));
        Err(PrimitiveError::Missing { what, next })
    }

    /// The cost of one hint in nanoseconds, beyond that of the loop around it; `None` for a hint
    /// that is not here. The best of several rounds, because a round can be interrupted.
    pub fn calibrate(self, clock: &Clock) -> Option<f64> {
        self.require().ok()?;
        let bare = best_ns(current::repeat(Hint::None)?, clock);
        let hinted = best_ns(current::repeat(self)?, clock);
        Some(if self == Hint::None { 0.0 } else { (hinted - bare).max(0.0) })
    }

    /// How often this hint must be executed to wait about `ns`: a measured cost of `one_ns` each,
    /// from 1 to `REPEATS_MAX`. `None` where one costs nothing that could be measured.
    pub fn repeats_for(ns: f64, one_ns: f64) -> Option<u32> {
        let repeats = (ns / one_ns).round();
        repeats.is_finite().then(|| repeats.clamp(1.0, f64::from(REPEATS_MAX)) as u32)
    }
}

/// The largest number of repeats at each look.
pub const REPEATS_MAX: u32 = 1 << 20;

/// On cache lines of its own: waiting threads read it, and nothing near it is ever written.
#[repr(align(128))]
struct Repeats(AtomicU32);

static REPEATS: Repeats = Repeats(AtomicU32::new(1));

/// How often a waiting thread executes its hint between two polls, in the whole process.
#[inline(always)]
pub fn repeats() -> u32 {
    REPEATS.0.load(Ordering::Relaxed)
}

/// Sets `repeats` for the whole process; 0 is taken as 1. To be called before threads wait: it is
/// a setting of a run, not of a lock.
pub fn set_repeats(count: u32) {
    REPEATS.0.store(count.clamp(1, REPEATS_MAX), Ordering::Relaxed);
}

const ROUNDS: usize = 7;
const HINTS_PER_ROUND: u32 = 4096;
/// A round that takes longer is long enough: waits for events take 100 microseconds each.
const ROUND_NS: u64 = 20_000;

/// The time of one hint: of so many in a row that the clock's steps do not matter, and the best of
/// several rounds at every length, because a first round may load or translate code.
fn best_ns(repeat: fn(u32), clock: &Clock) -> f64 {
    let round = |count: u32| {
        let start = clock.ticks();
        repeat(count);
        clock.ns_between(start, clock.ticks())
    };
    let best_of = |count: u32| (0..ROUNDS).map(|_| round(count)).min().unwrap_or(0);
    let (mut count, mut best) = (1, best_of(1));
    while count < HINTS_PER_ROUND && best < ROUND_NS {
        count *= 2;
        best = best_of(count);
    }
    best as f64 / f64::from(count)
}

/// Executes a hint `count` times, for calibration only.
#[inline(never)]
pub(crate) fn repeat<R: Repeat>(count: u32) {
    R::times(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_a_count_of_hints() {
        assert_eq!(Hint::repeats_for(1000.0, 25.0), Some(40));
        assert_eq!(Hint::repeats_for(10.0, 100.0), Some(1), "at least one");
        assert_eq!(Hint::repeats_for(1e12, 1.0), Some(REPEATS_MAX));
        assert_eq!(Hint::repeats_for(100.0, 0.0), None, "nothing repeated is nothing");
    }

    #[test]
    fn a_waiting_thread_executes_as_many_hints_as_are_set() {
        use crate::arch::all::hint::Relax;

        static EXECUTED: AtomicU32 = AtomicU32::new(0);
        struct Counting;
        impl Repeat for Counting {
            fn times(count: u32) {
                EXECUTED.fetch_add(count, Ordering::Relaxed);
            }
        }
        for (set, executed) in [(5, 5), (1, 6), (0, 7)] {
            set_repeats(set);
            Counting::relax();
            assert_eq!(EXECUTED.load(Ordering::Relaxed), executed);
        }
    }

    #[test]
    fn each_hint_of_this_cpu_has_a_cost_and_no_other_has() {
        let clock = Clock::calibrated();
        for hint in Hint::ALL {
            let cost = hint.calibrate(&clock);
            assert_eq!(cost.is_some(), Hint::available().contains(&hint), "{hint:?}");
            assert!(cost.is_none_or(|ns| ns >= 0.0), "{hint:?} costs {cost:?}");
        }
    }
}
