//! Times every lock kind and parking_lot's mutex between threads, in turns.
//!
//! `race_locks ROUNDS MILLISECONDS THREADS...` writes lines as `race_crc32c` does; the case is the
//! number of threads, the value 1e6 pairs of taking and releasing a second. A second line for each
//! turn, named `NAME fairness`, has the slowest thread's share of the fastest's. One pair holds the
//! lock for four multiply-adds and does twenty between.

mod common;

use std::time::Duration;

use assay_primitives::locks::{FutexLock, McsLock, TicketLock, Waiting, WordLock};
use assay_primitives::{Clock, Hint, LockKind, PrimitiveError};
use common::contend::{contend, multiply_add, own};

fn parking_lot(threads: usize, time: Duration) -> (f64, f64) {
    let lock = parking_lot::Mutex::new(0);
    contend(threads, time, || {
        || {
            let mut inside = lock.lock();
            *inside = multiply_add(*inside, 4);
        }
    })
}

fn of_kind(
    kind: LockKind,
    hint: Hint,
    threads: usize,
    time: Duration,
) -> Result<(f64, f64), PrimitiveError> {
    let waiting = Waiting::new(kind, hint, 2048, Clock::calibrated())?;
    match kind {
        LockKind::Ticket => own::<TicketLock>(waiting, threads, time),
        LockKind::Mcs => own::<McsLock>(waiting, threads, time),
        LockKind::Futex => own::<FutexLock>(waiting, threads, time),
        LockKind::Tas | LockKind::Ttas | LockKind::Backoff => {
            own::<WordLock>(waiting, threads, time)
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rounds, time, threads) = common::arguments()?;
    let hint = if cfg!(target_arch = "x86_64") { Hint::Pause } else { Hint::Isb };
    for threads in threads {
        let case = threads.to_string();
        for round in 0..rounds {
            // The last place is parking_lot's.
            for turn in 0..=LockKind::ALL.len() {
                let (name, (value, share)) =
                    match LockKind::ALL.get((turn + round) % (LockKind::ALL.len() + 1)) {
                        Some(kind) => (kind.name(), of_kind(*kind, hint, threads, time)?),
                        None => ("parking_lot", parking_lot(threads, time)),
                    };
                common::write(&case, round, name, value)?;
                common::write(&case, round, &format!("{name} fairness"), share)?;
            }
        }
    }
    Ok(())
}
