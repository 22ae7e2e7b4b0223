//! The hottest keys of YCSB's own chooser, by chi-square.

use assay_workload::hash::fnv1a_64;
use assay_workload::zipf::YCSB_ZETA;
use assay_workload::{Chooser, Mix, Parameters, Plan};

use crate::shares::chi_square;

const RECORDS: u64 = 100_000;

fn parameters(chooser: Chooser) -> Parameters {
    Parameters {
        mix: Mix::C,
        records: RECORDS,
        fields: 10,
        field_bytes: 100,
        chooser,
        theta: 0.99,
        operations: 1_000_000,
        max_scan: 100,
        seed: 77,
    }
}

/// Draws of the keys of ranks 1 and 2, and of all others.
fn counts(chooser: Chooser) -> [u64; 3] {
    let plan = Plan::new(parameters(chooser)).unwrap();
    let mut stream = plan.stream(0, 0);
    let mut counts = [0; 3];
    for _ in 0..plan.inputs_per_thread() {
        let number = stream.take().unwrap().number;
        let rank = [0, 1].into_iter().position(|rank| fnv1a_64(rank) % RECORDS == number);
        counts[rank.unwrap_or(2)] += 1;
    }
    counts
}

/// Rank r has r^-0.99 / 26.469 whatever the record count: 3.78 % for the first. To both come what
/// of the other ranks falls on their keys.
fn expected() -> [f64; 3] {
    let (first, second) = (1.0 / YCSB_ZETA, 0.5_f64.powf(0.99) / YCSB_ZETA);
    assert!((first - 0.0378).abs() < 0.00005);
    let others = (1.0 - first - second) / RECORDS as f64;
    [first + others, second + others, 1.0 - first - second - 2.0 * others]
}

#[test]
fn the_scrambled_chooser_gives_the_hottest_key_3_78_percent() {
    let counts = counts(Chooser::Scrambled10e10);
    let (statistic, limit) = chi_square(&counts, &expected());
    assert!(statistic < limit, "{counts:?}: {statistic} above {limit}");
}

#[test]
fn zipf_over_the_record_count_is_another_workload() {
    let counts = counts(Chooser::Exact);
    let (statistic, limit) = chi_square(&counts, &expected());
    assert!(statistic > limit, "{counts:?}: {statistic} under {limit}");
}
