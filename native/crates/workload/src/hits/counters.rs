//! Sites by the number of their counter, and which rows each has.
//!
//! The first page of a site has 30 % of its rows, so that the shares of the ten largest sites follow
//! from the published ones of pages. The others get a share that falls with their rank.

use super::shares::PAGES;

/// How many counters there are, numbered from one.
pub const COUNTERS: u64 = 2_000;
/// The counter with the most rows, 11 %: the one that dashboards ask for.
pub const LARGEST: i32 = 62;
/// Percent of a site's rows that are of its first page.
pub const FIRST_PAGE_PERCENT: u64 = 30;

/// Coprime to the number of counters: ranks and numbers are one to one.
const STEP: u64 = 1_237;
/// Keeps the first of the others below the tenth.
const OFFSET: u64 = 30;
/// The unit of weights, per row of 100 million.
const SCALE: u64 = 1_000_000;

/// The counter of a rank, which counts from zero.
pub fn of_rank(rank: u64) -> i32 {
    ((LARGEST as u64 - 1 + rank * STEP) % COUNTERS + 1) as i32
}

/// By counter (its number less one) its first row of so many, and at last the number of rows.
pub(super) fn first_rows(rows: u64) -> Vec<u64> {
    let mut weights = vec![0; COUNTERS as usize];
    let largest = PAGES.map(|share| share * SCALE * 100 / FIRST_PAGE_PERCENT);
    let rest = super::shares::ALL * SCALE - largest.iter().sum::<u64>();
    let inverse = |rank: u64| (1 << 40) / (rank + OFFSET);
    let inverses: u64 = (PAGES.len() as u64..COUNTERS).map(inverse).sum();
    for rank in 0..COUNTERS {
        let weight = match largest.get(rank as usize) {
            Some(weight) => *weight,
            None => product_over(rest, inverse(rank), inverses),
        };
        weights[of_rank(rank) as usize - 1] = weight;
    }
    let total = weights.iter().sum();
    let mut before = 0;
    let mut first = Vec::with_capacity(weights.len() + 1);
    for weight in weights {
        first.push(product_over(rows, before, total));
        before += weight;
    }
    first.push(rows);
    first
}

/// a * b / c without overflow, for results that fit.
fn product_over(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(c)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_one_rank_and_the_first_is_the_largest() {
        let mut counters: Vec<_> = (0..COUNTERS).map(of_rank).collect();
        assert_eq!(counters[0], LARGEST);
        counters.sort_unstable();
        assert!(counters.iter().copied().eq(1..=COUNTERS as i32));
    }

    #[test]
    fn counters_share_out_all_rows_by_rank() {
        for rows in [10_000, 1_000_003] {
            let first = first_rows(rows);
            assert_eq!((first[0], *first.last().unwrap()), (0, rows));
            let of = |rank: u64| {
                let place = of_rank(rank) as usize - 1;
                first[place + 1] - first[place]
            };
            assert!(first.is_sorted());
            // Rounding may move a row.
            assert!((1..COUNTERS).all(|rank| of(rank) <= of(rank - 1) + 1));
            assert!((of(0) as f64 / rows as f64 - 0.1096).abs() < 0.001);
        }
    }
}
