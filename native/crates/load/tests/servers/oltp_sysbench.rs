//! What sysbench itself draws, against the formulas of our distributions, which were found by
//! looking at such counts.

use std::process::Command;

use assay_workload::oltp::Distribution;

use crate::shares::{chi_square, shares};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/support/draws.lua");
const DRAWS: u32 = 400_000;

fn options(distribution: Distribution) -> Vec<String> {
    match distribution {
        Distribution::Uniform => Vec::new(),
        Distribution::Gaussian { iterations } => vec![format!("--rand-spec-iter={iterations}")],
        Distribution::Pareto { h } => vec![format!("--rand-pareto-h={h}")],
        Distribution::Special { percent, share, iterations } => vec![
            format!("--rand-spec-pct={percent}"),
            format!("--rand-spec-res={share}"),
            format!("--rand-spec-iter={iterations}"),
        ],
        Distribution::Zipfian { .. } => panic!("sysbench 1.0.20 has no zipfian"),
    }
}

/// How often sysbench drew each value from 1.
fn drawn_by_sysbench(distribution: Distribution, size: u64) -> Vec<u64> {
    let mut command = Command::new("sysbench");
    command.args([SCRIPT, "--events=1", "--time=0", "--rand-seed=20"]);
    command.arg(format!("--kind={}", distribution.name()));
    command.arg(format!("--size={size}")).arg(format!("--draws={DRAWS}"));
    let output = command.args(options(distribution)).arg("run").output().expect("sysbench");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|line| line.strip_prefix("drawn"));
    let counts: Vec<u64> =
        lines.map(|line| line.rsplit('\t').next().unwrap().parse().unwrap()).collect();
    assert_eq!(counts.len() as u64, size, "{text}");
    counts
}

#[test]
fn sysbench_draws_with_the_shares_of_our_formulas() {
    let special = |percent, share, iterations| Distribution::Special { percent, share, iterations };
    for distribution in [
        Distribution::Uniform,
        Distribution::SPECIAL,
        special(1, 75, 1),
        special(30, 60, 3),
        special(50, 90, 1),
        special(10, 100, 12),
        special(100, 40, 2),
        special(1, 0, 2),
        Distribution::GAUSSIAN,
        Distribution::Gaussian { iterations: 3 },
        Distribution::PARETO,
        Distribution::Pareto { h: 0.4 },
    ] {
        for size in [10, 100, 1000] {
            let counts = drawn_by_sysbench(distribution, size);
            let (statistic, limit) = chi_square(&counts, &shares(distribution, size));
            assert!(statistic < limit, "{distribution:?} to {size}: {statistic} above {limit}");
        }
    }
}
