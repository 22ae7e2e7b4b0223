//! The exact shares of sysbench's distributions, from their mathematics alone, and a chi-square
//! test. Also included by tests that look at sysbench itself.
#![allow(dead_code)] // Each test file uses a part.

use assay_workload::oltp::Distribution;

/// Shares of the values 1 to `size`.
pub fn shares(distribution: Distribution, size: u64) -> Vec<f64> {
    let n = size as f64;
    let below: Box<dyn Fn(f64) -> f64> = match distribution {
        Distribution::Uniform => Box::new(|x| x / n),
        Distribution::Gaussian { iterations } => Box::new(move |x| mean_below(x / n, iterations)),
        // n u^p < x where p = ln h / ln(1 - h).
        Distribution::Pareto { h } => Box::new(move |x| (x / n).powf((1.0 - h).ln() / h.ln())),
        Distribution::Special { percent, share, iterations } => {
            let (percent, share) = (f64::from(percent) / 100.0, f64::from(share) / 100.0);
            Box::new(move |x| special_below(x, n - 1.0, percent, share, iterations))
        }
        Distribution::Zipfian { exponent } => {
            let weights: Vec<f64> = (1..=size).map(|k| (k as f64).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            return weights.into_iter().map(|weight| weight / total).collect();
        }
    };
    (1..=size).map(|value| below(value as f64) - below(value as f64 - 1.0)).collect()
}

/// The hot branch is uniform from the r-th last part of its window to the window's end.
fn special_below(x: f64, t: f64, percent: f64, share: f64, iterations: u32) -> f64 {
    let (start, width) = (t / 2.0 - t * percent / 2.0, t * percent + 1.0);
    let hot = ((x - start) / width).clamp(1.0 - share, 1.0) - (1.0 - share);
    let cold = if t == 0.0 { 1.0 } else { mean_below((x / t).min(1.0), iterations) };
    hot + (1.0 - share) * cold
}

/// P(mean of `count` uniform numbers < x): the Irwin-Hall distribution.
fn mean_below(x: f64, count: u32) -> f64 {
    if x > 0.5 {
        // The sum below cancels badly on the right side.
        return 1.0 - mean_below(1.0 - x, count);
    }
    let sum = x * f64::from(count);
    let mut binomial = 1.0;
    let mut total = 0.0;
    for k in 0..=count {
        if f64::from(k) >= sum {
            break;
        }
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        total += sign * binomial * (sum - f64::from(k)).powi(count as i32);
        binomial *= f64::from(count - k) / f64::from(k + 1);
    }
    total / (1..=count).map(f64::from).product::<f64>()
}

/// Pearson's statistic over cells of at least ten expected draws, neighbours put together, and the
/// value that a right generator exceeds once in 30 000 seeds (Wilson and Hilferty).
pub fn chi_square(counts: &[u64], shares: &[f64]) -> (f64, f64) {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0.0_f64);
    let (mut seen, mut expected, mut left) = (0.0, 0.0, draws);
    for (index, (count, share)) in counts.iter().zip(shares).enumerate() {
        assert!(*count == 0 || *share > 0.0, "value {} is impossible", index + 1);
        seen += *count as f64;
        expected += share * draws;
        left -= share * draws;
        let is_last = index + 1 == counts.len();
        if is_last || (expected >= 10.0 && left >= 10.0) {
            let square: f64 = (seen - expected) * (seen - expected);
            statistic += square / expected;
            cells += 1.0;
            (seen, expected) = (0.0, 0.0);
        }
    }
    if cells < 2.0 {
        return (0.0, f64::EPSILON);
    }
    let spread = 2.0 / (9.0 * (cells - 1.0));
    (statistic, (cells - 1.0) * (1.0 - spread + 4.0 * spread.sqrt()).powi(3))
}
