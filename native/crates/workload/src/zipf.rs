//! Zipf-distributed ranks by the method of Gray et al. ("Quickly Generating Billion-Record
//! Synthetic Databases", SIGMOD 1994), as YCSB's `ZipfianGenerator` uses it.
//!
//! The method is exact for the two hottest ranks and an approximation for the others, with an
//! error in the rank-2 share of a few percent. YCSB has the same error; being the same workload
//! matters more here than being the better distribution.

use assay_random::Random;

/// Draws ranks: 0 is the hottest.
#[derive(Clone, Debug)]
pub struct Zipf {
    items: f64,
    zeta: f64,
    second: f64,
    alpha: f64,
    eta: f64,
}

/// The item count over which YCSB's scrambled generator always draws.
pub const YCSB_ITEMS: u64 = 10_000_000_000;
/// zeta(10^10, 0.99) as written in YCSB: summing it takes minutes.
pub const YCSB_ZETA: f64 = 26.469_028_201_783_02;
/// The skew for which that constant holds.
pub const YCSB_THETA: f64 = 0.99;

impl Zipf {
    /// Ranks below `items` with P(rank) proportional to 1 / (rank + 1)^theta.
    pub fn new(items: u64, theta: f64) -> Self {
        Self::with_zeta(items, theta, zeta(items, theta))
    }

    /// The draw inside YCSB's scrambled chooser: ten billion ranks whatever the record count.
    pub fn ycsb_scrambled() -> Self {
        Self::with_zeta(YCSB_ITEMS, YCSB_THETA, YCSB_ZETA)
    }

    fn with_zeta(items: u64, theta: f64, zeta_items: f64) -> Self {
        let second = 0.5_f64.powf(theta);
        let eta =
            (1.0 - (2.0 / items as f64).powf(1.0 - theta)) / (1.0 - (1.0 + second) / zeta_items);
        Self { items: items as f64, zeta: zeta_items, second, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// The share of draws that hit the hottest rank.
    pub fn hottest_share(&self) -> f64 {
        1.0 / self.zeta
    }

    /// One rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + self.second {
            return 1;
        }
        let rank = self.items * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.items as u64 - 1)
    }
}

/// The sum of 1 / i^theta for i from 1 to `items`.
pub fn zeta(items: u64, theta: f64) -> f64 {
    (1..=items).map(|rank| (rank as f64).powf(-theta)).sum()
}
