//! Zipf's law by rejection-inversion.
//!
//! Source: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", ACM TOMACS 6(3), 1996. Exact for every rank, a constant number of
//! powers per draw, nothing to sum up beforehand. `crate::zipf` is YCSB's approximation; the two are
//! different workloads.
//!
//! The density h(x) = x^-s has the integral H(x) = (x^(1-s) - 1) / (1 - s), and log x for s = 1. A
//! point between H(1.5) - 1 and H(n + 0.5) is drawn and inverted; its nearest rank k is taken when
//! the point lies within the last h(k) below H(k + 0.5), which is so at once for points near
//! enough to their rank.

use assay_random::Random;

/// Draws ranks from 1, the hottest, to n.
#[derive(Clone, Debug)]
pub struct RejectionInversion {
    exponent: f64,
    ranks: u64,
    /// H(1.5) - h(1), where the drawing starts.
    lowest: f64,
    /// H(n + 0.5), where it ends.
    highest: f64,
    /// How far below its rank a point is always good.
    shortcut: f64,
}

impl RejectionInversion {
    /// Shares proportional to k^-`exponent` for k from 1 to `ranks`; the exponent is above 0.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let shape = Shape(exponent);
        let shortcut = 2.0 - shape.inverse(shape.integral(2.5) - shape.density(2.0));
        let lowest = shape.integral(1.5) - 1.0;
        let highest = shape.integral(ranks as f64 + 0.5);
        Self { exponent, ranks, lowest, highest, shortcut }
    }

    /// One rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let shape = Shape(self.exponent);
        loop {
            let point = self.lowest + random.unit() * (self.highest - self.lowest);
            let x = shape.inverse(point);
            let rank = (x.round() as u64).clamp(1, self.ranks);
            let k = rank as f64;
            if k - x <= self.shortcut || point >= shape.integral(k + 0.5) - shape.density(k) {
                return rank;
            }
        }
    }
}

/// x^-s.
#[derive(Clone, Copy)]
struct Shape(f64);

impl Shape {
    fn density(self, x: f64) -> f64 {
        x.powf(-self.0)
    }

    /// Written with `exp_m1`, which loses nothing when s is close to 1.
    fn integral(self, x: f64) -> f64 {
        let (log, slope) = (x.ln(), 1.0 - self.0);
        if slope == 0.0 { log } else { (slope * log).exp_m1() / slope }
    }

    fn inverse(self, y: f64) -> f64 {
        let slope = 1.0 - self.0;
        let log = if slope == 0.0 { y } else { (slope * y).max(-1.0).ln_1p() / slope };
        log.exp()
    }
}
