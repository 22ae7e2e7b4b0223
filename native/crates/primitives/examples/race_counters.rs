//! Times the lock kind `tas` with the counting that every lock of ours does, and without.
//!
//! `race_counters ROUNDS MILLISECONDS THREADS...` writes lines as `race_locks` does. Both take the same
//! word and wait by the same hint; only one goes through a `Waiter`, which counts grabs, waits,
//! spins and the time waited.

mod common;

use std::time::Duration;

use assay_primitives::locks::{Waiting, WordLock};
use assay_primitives::{
    Arena, Clock, Hint, LockKind, LockTable, PageMode, PrimitiveError, RawLock,
};
use common::contend::{Guarded, contend, own};

fn uncounted(threads: usize, time: Duration) -> Result<f64, PrimitiveError> {
    let arena = Arena::new(LockTable::<WordLock>::bytes(1, 128), PageMode::Small)?;
    let Some(locks) = LockTable::<WordLock>::new(&arena, 1, 128) else { return Ok(0.0) };
    let guarded = Guarded::default();
    let (lock, guarded) = (locks.lock(0), &guarded);
    let pair = || {
        || {
            while lock.enter(&()).is_err() {
                std::hint::spin_loop();
            }
            // SAFETY: the lock is held since `enter` succeeded, and left once.
            unsafe {
                guarded.work();
                lock.leave(&());
            }
        }
    };
    Ok(contend(threads, time, pair).0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rounds, time, threads) = common::arguments()?;
    // What `spin_loop` is.
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Isb };
    let waiting = Waiting::new(LockKind::Tas, hint, 2048, Clock::calibrated())?;
    for threads in threads {
        let case = threads.to_string();
        for round in 0..rounds {
            for turn in 0..2 {
                let (name, value) = if (turn + round) % 2 == 0 {
                    ("counted", own::<WordLock>(waiting, threads, time)?.0)
                } else {
                    ("uncounted", uncounted(threads, time)?)
                };
                common::write(&case, round, name, value)?;
            }
        }
    }
    Ok(())
}
