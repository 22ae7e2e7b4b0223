//! How fast the machine is between two slices, by a loop that no arm has a part in.
//!
//! One thread on each CPU hashes the same bytes for a few milliseconds, while nothing of the load is
//! under way and the server is stopped.

use std::time::Duration;

use assay_primitives::Clock;
use assay_primitives::hashes::{self, Hash};
use assay_sampler::process;

const BYTES: usize = 4096;
/// A moment to come to rest on the CPU before time is taken.
const LEAD: Duration = Duration::from_micros(500);
/// Threads at most.
const CPUS: usize = 8;

/// What is hashed, the same for every arm.
pub struct Calibration {
    clock: Clock,
    length: Duration,
    cpus: Vec<usize>,
}

impl Calibration {
    /// Of so much time each; none of no time.
    pub fn new(clock: Clock, length: Duration) -> Option<Self> {
        let cpus = process::allowed_cpus().into_iter().take(CPUS).collect();
        (!length.is_zero()).then_some(Self { clock, length, cpus })
    }

    /// Buffers hashed in a microsecond, by all CPUs together.
    pub fn speed(&self) -> f64 {
        std::thread::scope(|scope| {
            let hashing = |cpu: usize| scope.spawn(move || self.on(cpu));
            let threads: Vec<_> = self.cpus.iter().map(|cpu| hashing(*cpu)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum()
        })
    }

    fn on(&self, cpu: usize) -> f64 {
        // A CPU that is refused leaves the thread where it is, as it leaves the load.
        process::pin_thread(cpu);
        let mut buffer = vec![1_u8; BYTES];
        self.hashed(&mut buffer, LEAD);
        self.hashed(&mut buffer, self.length)
    }

    fn hashed(&self, buffer: &mut [u8], length: Duration) -> f64 {
        let function = hashes::function(Hash::Xxh3Compiled);
        let start = self.clock.ticks();
        let end = start + self.clock.ticks_of_ns(length.as_nanos() as u64);
        let (mut turns, mut now) = (0_u64, start);
        while now < end {
            // SAFETY: the buffer is this thread's own.
            std::hint::black_box(unsafe { function(buffer.as_mut_ptr(), buffer.len()) });
            turns += 1;
            now = self.clock.ticks();
        }
        turns as f64 * 1e3 / self.clock.ns_between(start, now).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_no_calibration_and_some_has_a_speed() {
        let clock = Clock::calibrated();
        assert!(Calibration::new(clock, Duration::ZERO).is_none());
        let some = Calibration::new(clock, Duration::from_millis(2)).unwrap();
        assert!(some.speed() > 0.0);
    }
}
