//! When operations are meant to be sent, in an open loop.
//!
//! Times are drawn ahead of any answer: a server that is slow is asked no less often. An idle
//! connection takes the next time and waits for it; when all connections are busy, the next free
//! one takes what is overdue, first come first served. Latencies count from these times (Tene's
//! "coordinated omission": a time that was only noted when the request could be sent hides the
//! waiting of everybody who would have asked meanwhile).

use assay_primitives::Clock;
use assay_random::Random;

/// How times follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// All as far apart.
    Even,
    /// Independent of each other: exponential distances, as from many users.
    Poisson,
}

/// How often one worker is meant to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second.
    pub per_s: f64,
    /// How they follow each other.
    pub spacing: Spacing,
}

/// Draws of other purposes are independent of these.
const PURPOSE: u64 = 0x6172_7269_7661_6c00;

/// The times of one worker.
#[derive(Debug)]
pub struct Arrivals {
    ticks_apart: f64,
    spacing: Spacing,
    random: Random,
    /// The next time, in ticks since the start, with its fraction.
    next: f64,
    start: u64,
}

impl Arrivals {
    /// Times from `start` (ticks) on. Of `workers` workers each has its share, and even times of
    /// different workers lie between each other.
    pub fn new(
        rate: Rate,
        worker: usize,
        workers: usize,
        start: u64,
        clock: Clock,
        seed: u64,
    ) -> Self {
        let ticks_apart = clock.hz() as f64 / rate.per_s * workers as f64;
        let random = Random::new(seed, PURPOSE + worker as u64);
        let mut arrivals = Self { ticks_apart, spacing: rate.spacing, random, next: 0.0, start };
        arrivals.next = match rate.spacing {
            Spacing::Even => ticks_apart * worker as f64 / workers as f64,
            Spacing::Poisson => arrivals.distance(),
        };
        arrivals
    }

    /// Takes the next time, in ticks.
    pub fn take(&mut self) -> u64 {
        let at = self.start.saturating_add(self.next as u64);
        self.next += self.distance();
        at
    }

    fn distance(&mut self) -> f64 {
        match self.spacing {
            Spacing::Even => self.ticks_apart,
            // 1 - u is never zero.
            Spacing::Poisson => -(1.0 - self.random.unit()).ln() * self.ticks_apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(rate: Rate, workers: usize, times: usize) -> Vec<f64> {
        let clock = Clock::calibrated();
        let mut all: Vec<f64> = (0..workers)
            .flat_map(|worker| {
                let mut arrivals = Arrivals::new(rate, worker, workers, 0, clock, 7);
                (0..times).map(move |_| arrivals.take() as f64 / clock.hz() as f64)
            })
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn even_times_of_several_workers_lie_evenly_between_each_other() {
        let times = seconds(Rate { per_s: 1000.0, spacing: Spacing::Even }, 4, 50);
        for (place, time) in times.iter().enumerate() {
            assert!((time - place as f64 / 1000.0).abs() < 1e-6, "{place}: {time}");
        }
    }

    #[test]
    fn poisson_distances_have_the_mean_and_the_spread_of_an_exponential() {
        let times = seconds(Rate { per_s: 1000.0, spacing: Spacing::Poisson }, 1, 200_000);
        let distances: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) * 1e3).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        let spread = distances.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
        let spread = (spread / distances.len() as f64).sqrt();
        // Five standard errors of 200,000 draws.
        assert!((mean - 1.0).abs() < 0.012 && (spread - 1.0).abs() < 0.016, "{mean} {spread}");
    }
}
