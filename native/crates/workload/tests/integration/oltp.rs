//! The inputs of sysbench's tests against their definitions.

use assay_random::Random;
use assay_workload::oltp::text::{C_BYTES, PAD_BYTES};
use assay_workload::oltp::{Distribution, Event, Parameters, Plan, Sampler, Statement, Test};

use crate::shares::{chi_square, shares};

const DRAWS: u64 = 400_000;

fn counts(distribution: Distribution, size: u64) -> Vec<u64> {
    let sampler = Sampler::new(distribution, size);
    let mut random = Random::new(11, 0);
    let mut counts = vec![0; size as usize];
    (0..DRAWS).for_each(|_| counts[sampler.draw(&mut random) as usize - 1] += 1);
    counts
}

fn statements(parameters: Parameters, thread: usize, events: usize) -> Vec<Vec<Statement>> {
    let mut stream = Plan::new(parameters).unwrap().stream(thread);
    let mut event = Event::default();
    let take = |_| {
        stream.take(&mut event);
        event.statements.clone()
    };
    (0..events).map(take).collect()
}

fn kind(statement: &Statement) -> char {
    match statement {
        Statement::Begin => 'B',
        Statement::PointSelect { .. } => 'p',
        Statement::SimpleRange { .. } => 's',
        Statement::SumRange { .. } => '+',
        Statement::OrderRange { .. } => 'o',
        Statement::DistinctRange { .. } => 'd',
        Statement::IndexUpdate { .. } => 'u',
        Statement::NonIndexUpdate { .. } => 'n',
        Statement::Delete { .. } => '-',
        Statement::Insert { .. } => 'i',
        Statement::Commit => 'C',
    }
}

fn kinds(parameters: Parameters) -> String {
    statements(parameters, 0, 1)[0].iter().map(kind).collect()
}

fn table(statement: &Statement) -> Option<u32> {
    use Statement as S;
    match statement {
        S::Begin | S::Commit => None,
        S::PointSelect { table, .. }
        | S::SimpleRange { table, .. }
        | S::SumRange { table, .. }
        | S::OrderRange { table, .. }
        | S::DistinctRange { table, .. }
        | S::IndexUpdate { table, .. }
        | S::NonIndexUpdate { table, .. }
        | S::Delete { table, .. }
        | S::Insert { table, .. } => Some(*table),
    }
}

#[test]
fn every_distribution_has_the_shares_of_its_formula() {
    let others = [
        Distribution::Gaussian { iterations: 1 },
        Distribution::Gaussian { iterations: 3 },
        Distribution::Pareto { h: 0.5 },
        Distribution::Special { percent: 10, share: 100, iterations: 12 },
        Distribution::Special { percent: 100, share: 60, iterations: 2 },
        Distribution::Special { percent: 0, share: 0, iterations: 3 },
        Distribution::Zipfian { exponent: 1.0 },
        Distribution::Zipfian { exponent: 0.01 },
        Distribution::Zipfian { exponent: 3.0 },
    ];
    for distribution in Distribution::ALL.into_iter().chain(others) {
        for size in [2, 10, 1000] {
            let shares = shares(distribution, size);
            let total: f64 = shares.iter().sum();
            assert!((total - 1.0).abs() < 1e-9, "{distribution:?}: shares add up to {total}");
            let (statistic, limit) = chi_square(&counts(distribution, size), &shares);
            assert!(statistic < limit, "{distribution:?} to {size}: {statistic} above {limit}");
        }
    }
}

#[test]
fn the_chi_square_test_sees_a_distribution_that_is_nearly_right() {
    for (drawn, other) in [
        (Distribution::ZIPFIAN, Distribution::Zipfian { exponent: 0.82 }),
        (Distribution::SPECIAL, Distribution::Special { percent: 1, share: 74, iterations: 12 }),
        (Distribution::SPECIAL, Distribution::Special { percent: 1, share: 75, iterations: 11 }),
        (Distribution::PARETO, Distribution::Pareto { h: 0.205 }),
    ] {
        let (statistic, limit) = chi_square(&counts(drawn, 1000), &shares(other, 1000));
        assert!(statistic > limit, "{drawn:?} passes as {other:?}: {statistic} under {limit}");
    }
}

#[test]
fn a_table_of_one_row_has_one_id() {
    for distribution in Distribution::ALL {
        assert_eq!(counts(distribution, 1), [DRAWS], "{distribution:?}");
    }
}

#[test]
fn special_draws_three_quarters_of_the_accesses_from_nine_values_above_the_middle() {
    let shares = shares(Distribution::SPECIAL, 1000);
    let hot: f64 = shares[497..=505].iter().sum();
    assert!(hot > 0.75 && hot < 0.77, "{hot}");
    assert!(shares[496] < 0.002 && shares[506] < 0.002);
}

#[test]
fn each_test_has_sysbenchs_statements_in_sysbenchs_order() {
    for (test, expected) in [
        (Test::PointSelect, "p"),
        (Test::ReadOnly, "Bpppppppppps+odC"),
        (Test::ReadWrite, "Bpppppppppps+odun-iC"),
        (Test::UpdateIndex, "u"),
        (Test::UpdateNonIndex, "n"),
    ] {
        assert_eq!(kinds(Parameters::defaults(test, 1)), expected, "{test:?}");
    }
    let many = Parameters {
        point_selects: 2,
        simple_ranges: 3,
        sum_ranges: 0,
        index_updates: 2,
        non_index_updates: 0,
        delete_inserts: 2,
        skip_trx: true,
        ..Parameters::defaults(Test::ReadWrite, 1)
    };
    assert_eq!(kinds(many.clone()), "ppsssoduu-i-i");
    assert_eq!(kinds(Parameters { test: Test::PointSelect, ..many.clone() }), "p");
    assert_eq!(kinds(Parameters { test: Test::UpdateIndex, ..many.clone() }), "uu");
    assert_eq!(many.statements(), 13);
}

#[test]
fn statements_of_a_kind_share_a_table_and_every_table_is_used() {
    let parameters = Parameters {
        tables: 7,
        distribution: Distribution::Uniform,
        simple_ranges: 3,
        delete_inserts: 3,
        ..Parameters::defaults(Test::ReadWrite, 1)
    };
    let mut used = [0_u64; 7];
    for statements in statements(parameters, 0, 2000) {
        let points = statements.iter().filter(|statement| kind(statement) == 'p');
        let mut tables: Vec<u32> = points.filter_map(table).collect();
        used[tables[0] as usize - 1] += 1;
        tables.dedup();
        assert_eq!(tables.len(), 1);
        let replaced = statements.iter().filter(|statement| "-i".contains(kind(statement)));
        let mut tables: Vec<u32> = replaced.filter_map(table).collect();
        tables.dedup();
        assert_eq!(tables.len(), 1);
    }
    let (statistic, limit) = chi_square(&used, &[1.0 / 7.0; 7]);
    assert!(statistic < limit, "{used:?}");
}

#[test]
fn a_range_covers_its_size_and_an_insert_puts_back_what_the_delete_took() {
    let parameters = Parameters {
        range_size: 10,
        table_size: 50,
        distribution: Distribution::Uniform,
        ..Parameters::defaults(Test::ReadWrite, 1)
    };
    let mut beyond = 0;
    for statements in statements(parameters, 0, 500) {
        let mut deleted = None;
        for statement in statements {
            match statement {
                Statement::SimpleRange { first, last, .. } => {
                    assert_eq!(last, first + 9);
                    beyond += u64::from(last > 50);
                }
                Statement::Delete { id, .. } => deleted = Some(id),
                Statement::Insert { id, k, .. } => {
                    assert_eq!(deleted, Some(id));
                    assert!((1..=50).contains(&k));
                }
                _ => {}
            }
        }
    }
    assert!(beyond > 0, "ranges reach beyond the table, as sysbench's do");
}

#[test]
fn the_same_seed_gives_the_same_events_and_rows_and_another_does_not() {
    let parameters = |seed| Parameters::defaults(Test::ReadWrite, seed);
    let once = statements(parameters(1), 0, 20);
    assert_eq!(once, statements(parameters(1), 0, 20));
    assert_ne!(once, statements(parameters(1), 1, 20), "threads differ");
    assert_ne!(once, statements(parameters(2), 0, 20), "seeds differ");
    let (plan, other) = (Plan::new(parameters(1)).unwrap(), Plan::new(parameters(2)).unwrap());
    assert_eq!(plan.row(1, 5), plan.clone().row(1, 5));
    for different in [plan.row(2, 5), plan.row(1, 6), other.row(1, 5)] {
        assert_ne!(plan.row(1, 5).c, different.c);
    }
}

#[test]
fn strings_are_groups_of_eleven_digits_joined_by_dashes() {
    let plan = Plan::new(Parameters::defaults(Test::ReadWrite, 1)).unwrap();
    let mut digits = [0_u64; 10];
    for id in 1..=2000 {
        let row = plan.row(1, id);
        assert_eq!((C_BYTES, PAD_BYTES), (119, 59));
        for text in [&row.c[..], &row.pad[..]] {
            for group in text.split(|byte| *byte == b'-') {
                assert_eq!(group.len(), 11);
                group.iter().for_each(|digit| digits[usize::from(digit - b'0')] += 1);
            }
        }
    }
    let (statistic, limit) = chi_square(&digits, &[0.1; 10]);
    assert!(statistic < limit, "{digits:?}");
}

#[test]
fn the_column_k_is_drawn_like_an_id() {
    let parameters = Parameters { table_size: 1000, ..Parameters::defaults(Test::ReadWrite, 1) };
    let plan = Plan::new(parameters).unwrap();
    let mut counts = vec![0; 1000];
    for table in 1..=50 {
        (1..=1000).for_each(|id| counts[plan.row(table, id).k as usize - 1] += 1);
    }
    let (statistic, limit) = chi_square(&counts, &shares(Distribution::SPECIAL, 1000));
    assert!(statistic < limit, "{statistic} above {limit}");
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let good = || Parameters::defaults(Test::ReadWrite, 1);
    let special = |percent, share, iterations| Parameters {
        distribution: Distribution::Special { percent, share, iterations },
        ..good()
    };
    let wrong = [
        ("tables", Parameters { tables: 0, ..good() }),
        ("table_size", Parameters { table_size: 1 << 31, ..good() }),
        ("range_size", Parameters { range_size: 0, ..good() }),
        ("delete_inserts", Parameters { delete_inserts: 10_001, ..good() }),
        ("rand_percent", special(101, 75, 12)),
        ("rand_share", special(1, 101, 12)),
        ("rand_iterations", special(1, 75, 0)),
        ("rand_pareto_h", Parameters { distribution: Distribution::Pareto { h: 1.0 }, ..good() }),
        (
            "rand_exponent",
            Parameters { distribution: Distribution::Zipfian { exponent: 0.0 }, ..good() },
        ),
    ];
    for (name, parameters) in wrong {
        let message = Plan::new(parameters).unwrap_err().to_string();
        assert!(message.contains(&format!("workload.{name}")), "{message}");
    }
    let nothing = Parameters { index_updates: 0, ..Parameters::defaults(Test::UpdateIndex, 1) };
    assert!(Plan::new(nothing).unwrap_err().to_string().contains("no statements"));
}
