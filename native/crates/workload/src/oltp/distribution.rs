//! How sysbench draws ids from 1 to n: `--rand-type`.
//!
//! The formulas were found by observing sysbench 1.0.20 through its scripting interface (histograms
//! of millions of draws over ranges and options) and hold for it to within a chi-square test that
//! runs here. With u, u1 .. ui uniform in [0, 1) and all results cut to whole numbers:
//!
//! | name | a draw from 1 to n |
//! |---|---|
//! | `uniform` | 1 + n u |
//! | `gaussian` | 1 + n (u1 + .. + ui) / i |
//! | `pareto` | 1 + n u^(ln h / ln(1 - h)) |
//! | `special`, if u >= 1 - r | 1 + t/2 - t p/2 + u (t p + 1) |
//! | `special`, if not | 1 + t (u1 + .. + ui) / i |
//! | `zipfian` | rank 1 is the hottest, share of rank k proportional to k^-s (not in 1.0.20) |
//!
//! with t = n - 1, h the parameter, p the percentage of hot values and r that of hot draws.
//!
//! What follows for `special` and is easily missed:
//! * Only the upper r of the hot window is ever drawn by the hot branch: 75 % of the accesses fall on
//!   r (t p + 1) values, not on t p, and the window lies above the middle of the table.
//! * The other accesses are bell-shaped around the middle too (standard deviation t / sqrt(12 i)),
//!   not uniform: with the defaults the outer half of the table gets one access in 2,000.
//! * The value n is drawn by nothing but a wide hot window; the hot window is at least one value
//!   wide.

use super::zipfian::RejectionInversion;
use crate::WorkloadError;
use assay_random::Random;

/// A distribution of ids, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every id alike.
    Uniform,
    /// The mean of some uniform draws.
    Gaussian {
        /// Draws per mean, `--rand-spec-iter`.
        iterations: u32,
    },
    /// A power of a uniform draw: small ids are hot.
    Pareto {
        /// In ]0, 1[, `--rand-pareto-h`: a share h of the ids gets the share 1 - h of the draws.
        h: f64,
    },
    /// A hot window in the middle of a bell.
    Special {
        /// Of the ids, in the hot window, `--rand-spec-pct`; from 0 to 100.
        percent: u32,
        /// Of the draws, in percent, in the hot window, `--rand-spec-res`; from 0 to 100.
        share: u32,
        /// Draws per mean outside of it, `--rand-spec-iter`.
        iterations: u32,
    },
    /// Zipf's law; small ids are hot.
    Zipfian {
        /// `--rand-zipfian-exp` of the versions after 1.0.20.
        exponent: f64,
    },
}

impl Distribution {
    /// The default of sysbench 1.0.20.
    pub const SPECIAL: Self = Self::Special { percent: 1, share: 75, iterations: 12 };
    /// `gaussian` with sysbench's default.
    pub const GAUSSIAN: Self = Self::Gaussian { iterations: 12 };
    /// `pareto` with sysbench's default.
    pub const PARETO: Self = Self::Pareto { h: 0.2 };
    /// `zipfian` with sysbench's default.
    pub const ZIPFIAN: Self = Self::Zipfian { exponent: 0.8 };

    /// Every distribution with its defaults.
    pub const ALL: [Self; 5] =
        [Self::Uniform, Self::GAUSSIAN, Self::PARETO, Self::SPECIAL, Self::ZIPFIAN];

    /// The name used in requests, which is sysbench's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian { .. } => "gaussian",
            Self::Pareto { .. } => "pareto",
            Self::Special { .. } => "special",
            Self::Zipfian { .. } => "zipfian",
        }
    }

    /// Refuses what cannot be drawn.
    ///
    /// # Errors
    /// `OutOfRange` with the parameter's name.
    pub fn validate(self) -> Result<(), WorkloadError> {
        let iterations_fit = |count: u32| {
            let is_good = (1..=1000).contains(&count);
            check(is_good, "rand_iterations", count.to_string(), "from 1 to 1000")
        };
        match self {
            Self::Uniform => Ok(()),
            Self::Gaussian { iterations } => iterations_fit(iterations),
            Self::Pareto { h } => {
                check(h > 0.0 && h < 1.0, "rand_pareto_h", h.to_string(), "between 0 and 1")
            }
            Self::Special { percent, share, iterations } => {
                check(percent <= 100, "rand_percent", percent.to_string(), "at most 100")?;
                check(share <= 100, "rand_share", share.to_string(), "at most 100")?;
                iterations_fit(iterations)
            }
            Self::Zipfian { exponent } => {
                let is_good = exponent > 0.0 && exponent <= 100.0;
                check(is_good, "rand_exponent", exponent.to_string(), "above 0, at most 100")
            }
        }
    }
}

fn check(
    is_good: bool,
    name: &'static str,
    value: String,
    allowed: &'static str,
) -> Result<(), WorkloadError> {
    if is_good { Ok(()) } else { Err(WorkloadError::OutOfRange { name, value, allowed }) }
}

/// Draws from 1 to n.
#[derive(Clone, Debug)]
pub struct Sampler {
    form: Form,
    size: u64,
}

#[derive(Clone, Debug)]
enum Form {
    Uniform,
    Gaussian { iterations: u32 },
    Pareto { power: f64 },
    Special(Special),
    Zipfian(RejectionInversion),
}

/// See the module for the formula.
#[derive(Clone, Debug)]
struct Special {
    /// Draws from here on are hot.
    hot_from: f64,
    window_start: f64,
    window_width: f64,
    /// What the mean of the cold draws is multiplied by.
    width: f64,
    iterations: u32,
}

impl Sampler {
    /// A sampler of 1 to `size`; both are to be valid.
    pub fn new(distribution: Distribution, size: u64) -> Self {
        let form = match distribution {
            Distribution::Uniform => Form::Uniform,
            Distribution::Gaussian { iterations } => Form::Gaussian { iterations },
            Distribution::Pareto { h } => Form::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Special { percent, share, iterations } => {
                Form::Special(Special::new(size, percent, share, iterations))
            }
            Distribution::Zipfian { exponent } => {
                Form::Zipfian(RejectionInversion::new(size, exponent))
            }
        };
        Self { form, size }
    }

    /// One value from 1 to `size`.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let size = self.size as f64;
        let offset = match &self.form {
            Form::Uniform => return 1 + random.below(self.size),
            Form::Gaussian { iterations } => size * mean(random, *iterations),
            Form::Pareto { power } => size * random.unit().powf(*power),
            Form::Special(special) => special.draw(random),
            Form::Zipfian(zipfian) => return zipfian.draw(random),
        };
        // Rounding of a product may reach the bound, and a window of more than the table does.
        1 + (offset as u64).min(self.size - 1)
    }
}

impl Special {
    fn new(size: u64, percent: u32, share: u32, iterations: u32) -> Self {
        let width = (size - 1) as f64;
        let hot_width = width * f64::from(percent) / 100.0;
        Self {
            hot_from: 1.0 - f64::from(share) / 100.0,
            window_start: (width - hot_width) / 2.0,
            window_width: hot_width + 1.0,
            width,
            iterations,
        }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        let unit = random.unit();
        if unit >= self.hot_from {
            return self.window_start + unit * self.window_width;
        }
        self.width * mean(random, self.iterations)
    }
}

fn mean(random: &mut Random, iterations: u32) -> f64 {
    (0..iterations).map(|_| random.unit()).sum::<f64>() / f64::from(iterations)
}
