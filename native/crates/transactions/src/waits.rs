//! Waiting for a row, and backing off between attempts, with the chosen hint.

use std::time::Duration;

use assay_primitives::arch::current::hint::repeat;
use assay_primitives::{Clock, Contention, Hint, PrimitiveError};

/// The first pause between two attempts, of the size of a transaction of the studies, and the
/// longest, of the size of a time slice: guesses.
const FIRST_PAUSE_NS: u64 = 500;
const PAUSE_NS_MAX: u64 = 1_000_000;
/// Longer pauses give the CPU away: whoever is in the way may need it.
const SPIN_NS_MAX: u64 = 50_000;

/// How a database waits.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    repeat: fn(u32),
    /// Hints between two looks, and before the CPU is given away.
    limit: u32,
    hint_ns: f64,
    clock: Clock,
}

impl Pauses {
    /// Calibrates the hint, which takes a millisecond or two.
    pub fn new(hint: Hint, limit: u32, clock: Clock) -> Result<Self, PrimitiveError> {
        hint.require()?;
        let missing = || PrimitiveError::Missing {
            what: format!("hint `{}` cannot be repeated on this CPU", hint.name()),
            next: "choose another hint".to_owned(),
        };
        let repeat = repeat(hint).ok_or_else(missing)?;
        let hint_ns = hint.calibrate(&clock).ok_or_else(missing)?.max(LOOP_NS);
        Ok(Self { repeat, limit: limit.max(1), hint_ns, clock })
    }
}

/// The least that a turn of an empty loop takes.
const LOOP_NS: f64 = 0.3;

/// One worker's waiting, and what it met.
#[derive(Debug)]
pub struct Waits {
    pauses: Pauses,
    pub counts: Contention,
    random: u64,
}

impl Waits {
    /// Nothing met yet.
    pub fn new(pauses: Pauses, worker: usize) -> Self {
        let random = (worker as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { pauses, counts: Contention::default(), random }
    }

    /// Looks until the answer is something, with hints in between.
    #[cold]
    #[inline(never)]
    pub fn until<T>(&mut self, mut look: impl FnMut() -> Option<T>) -> T {
        let start = self.pauses.clock.ticks();
        let mut spins = 0;
        self.counts.waits += 1;
        let result = loop {
            (self.pauses.repeat)(1);
            spins += 1;
            if let Some(result) = look() {
                break result;
            }
            if spins % u64::from(self.pauses.limit) == 0 {
                std::thread::yield_now();
            }
        };
        self.counts.spins += spins;
        self.counts.wait_ticks += self.pauses.clock.ticks().saturating_sub(start);
        result
    }

    /// Pauses a random time before the next attempt, twice as long at most each time.
    #[cold]
    #[inline(never)]
    pub fn back_off(&mut self, attempts: u32) {
        let most = (FIRST_PAUSE_NS << attempts.min(16)).min(PAUSE_NS_MAX);
        let pause_ns = self.bits() % most;
        if pause_ns > SPIN_NS_MAX {
            std::thread::sleep(Duration::from_nanos(pause_ns));
        } else {
            (self.pauses.repeat)((pause_ns as f64 / self.pauses.hint_ns) as u32);
        }
    }

    /// Another thread is about to finish what is in the way.
    #[cold]
    #[inline(never)]
    pub fn pause(&mut self, round: u32) {
        (self.pauses.repeat)(1);
        if round >= self.pauses.limit {
            std::thread::yield_now();
        }
    }

    /// Ticks now.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        self.pauses.clock.ticks()
    }

    /// xorshift64 (Marsaglia, 2003).
    fn bits(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
