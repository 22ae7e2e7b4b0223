//! Every kind of plan, with and without rewriting, against a slow obvious twin.

use assay_plans::{
    Aggregate, Column, Comparison, Expression, Filter, Function, Operator, PlanKind, Query,
    Rewrite, Table, compile, hits_like, ninety_sums,
};
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: [&str; 3] = ["small", "middle", "large"];

/// What a query means, said as plainly as possible.
fn twin(query: &Query, table: &Table) -> Vec<i64> {
    let kept: Vec<usize> = (0..table.rows())
        .filter(|&row| {
            query.filter.as_ref().is_none_or(|filter| {
                let left = value(&filter.left, table, row);
                let right = value(&filter.right, table, row);
                match filter.comparison {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                }
            })
        })
        .collect();
    let answer = |aggregate: &Aggregate| {
        let values = kept.iter().map(|&row| value(&aggregate.argument, table, row));
        match aggregate.function {
            // Exact in 128 bits, and cut to 64 at the end: what wrapping must come to.
            Function::Sum => values.map(i128::from).sum::<i128>() as i64,
            Function::Count => kept.len() as i64,
            Function::Min => values.min().unwrap_or(i64::MAX),
            Function::Max => values.max().unwrap_or(i64::MIN),
        }
    };
    query.aggregates.iter().map(answer).collect()
}

fn value(expression: &Expression, table: &Table, row: usize) -> i64 {
    match expression {
        Expression::Column(name) => {
            let place = table.schema().place(name).unwrap();
            match &table.columns()[place] {
                Column::I16(values) => i64::from(values[row]),
                Column::I32(values) => i64::from(values[row]),
                Column::I64(values) => values[row],
            }
        }
        Expression::Constant(constant) => *constant,
        Expression::Binary(operator, left, right) => {
            let left = i128::from(value(left, table, row));
            let right = i128::from(value(right, table, row));
            let exact = match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
            };
            exact as i64
        }
    }
}

fn assert_all_agree(query: &Query, table: &Table) {
    let expected = twin(query, table);
    for kind in PlanKind::ALL {
        for rewrite in Rewrite::ALL {
            let plan = compile(kind, rewrite, query, table.schema()).unwrap();
            let (name, rewritten) = (kind.name(), rewrite.name());
            assert_eq!(plan.run(table), expected, "{name}, rewrite {rewritten}, {query:?}");
            assert_eq!(plan.run(table), expected, "{name}, rewrite {rewritten}, second run");
        }
    }
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3_i64..4,
        any::<i64>(),
        select(vec![i64::MIN, i64::MAX, i64::from(i32::MIN), i64::from(i32::MAX) + 1])
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        2 => select(&NAMES[..]).prop_map(Expression::column),
        1 => number().prop_map(Expression::Constant),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        (select(&Operator::ALL[..]), inner.clone(), inner)
            .prop_map(|(operator, left, right)| Expression::binary(operator, left, right))
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    (select(&Comparison::ALL[..]), expression(), expression())
        .prop_map(|(comparison, left, right)| Filter { comparison, left, right })
}

fn query() -> impl Strategy<Value = Query> {
    let aggregate = (select(&Function::ALL[..]), expression())
        .prop_map(|(function, argument)| Aggregate { function, argument });
    (prop::collection::vec(aggregate, 1..10), prop::option::of(filter()))
        .prop_map(|(aggregates, filter)| Query { aggregates, filter })
}

fn table_of(rows: Vec<(i16, i32, i64)>) -> Table {
    Table::new(vec![
        ("small".to_owned(), Column::I16(rows.iter().map(|row| row.0).collect())),
        ("middle".to_owned(), Column::I32(rows.iter().map(|row| row.1).collect())),
        ("large".to_owned(), Column::I64(rows.iter().map(|row| row.2).collect())),
    ])
    .unwrap()
}

/// Few rows mostly, since each length meets other tails; sometimes more than one batch.
fn table() -> impl Strategy<Value = Table> {
    let row = || (any::<i16>(), any::<i32>(), number());
    prop_oneof![
        8 => prop::collection::vec(row(), 0..40),
        1 => prop::collection::vec(row(), 1000..2100),
    ]
    .prop_map(table_of)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_kinds_mean_the_same_by_any_query(query in query(), table in table()) {
        assert_all_agree(&query, &table);
    }

    /// Sums and counts of small numbers, which compiled vectors add up in 32 bits.
    #[test]
    fn all_kinds_mean_the_same_by_sums_that_fit_narrow_lanes(
        terms in prop::collection::vec((any::<bool>(), -8_388_607_i64..8_388_608), 1..10),
        filter in prop::option::of((select(&Comparison::ALL[..]), any::<i16>())),
        table in table(),
    ) {
        let aggregate = |(is_sum, constant)| Aggregate {
            function: if is_sum { Function::Sum } else { Function::Count },
            argument: small_plus(constant),
        };
        let filter = filter.map(|(comparison, limit)| Filter {
            comparison,
            left: Expression::column("middle"),
            right: small_plus(limit.into()),
        });
        let query = Query { aggregates: terms.into_iter().map(aggregate).collect(), filter };
        assert_all_agree(&query, &table);
    }
}

fn small_plus(constant: i64) -> Expression {
    Expression::binary(Operator::Add, Expression::column("small"), Expression::Constant(constant))
}

/// At 8,388,607 - 32,767 a tile of the largest value just fits a lane; above it does not.
#[test]
fn sums_at_the_edge_of_32_bits_are_exact() {
    for value in [i16::MIN, i16::MAX] {
        let table = table_of(vec![(value, 0, 0); 2048]);
        for distance in [-1, 0, 1, 2, 40_000] {
            for constant in [8_355_840 + distance, -8_355_839 - distance] {
                let sum = Aggregate { function: Function::Sum, argument: small_plus(constant) };
                assert_all_agree(&Query { aggregates: vec![sum; 4], filter: None }, &table);
            }
        }
    }
}

#[test]
fn every_length_around_steps_and_batches_is_right() {
    for width in [1, 2, 3, 4, 5, 9] {
        for rows in (0..20).chain(1020..1030).chain(2046..2051) {
            assert_all_agree(&Query::sums("width", width), &hits_like(7, rows));
        }
    }
}

#[test]
fn ninety_sums_differ_by_the_count() {
    let table = hits_like(1, 5_003);
    let query = ninety_sums();
    assert_all_agree(&query, &table);
    let answers = twin(&query, &table);
    assert!(answers.windows(2).all(|pair| pair[1] - pair[0] == 5_003));
}

#[test]
fn extremes_wrap_in_every_column() {
    let rows = [(i16::MIN, i32::MIN, i64::MIN), (i16::MAX, i32::MAX, i64::MAX), (-1, -1, -1)];
    let table = table_of(rows.into_iter().cycle().take(23).collect());
    let mut aggregates = Vec::new();
    for name in NAMES {
        for operator in Operator::ALL {
            for constant in [i64::MIN, -1, 1, i64::MAX] {
                for function in Function::ALL {
                    let argument = Expression::binary(
                        operator,
                        Expression::column(name),
                        Expression::Constant(constant),
                    );
                    aggregates.push(Aggregate { function, argument });
                }
            }
        }
    }
    assert_all_agree(&Query { aggregates, filter: None }, &table);
}

#[test]
fn a_filter_that_nothing_passes_leaves_the_results_of_no_rows() {
    let argument = Expression::column("user");
    let aggregates =
        Function::ALL.map(|function| Aggregate { function, argument: argument.clone() }).to_vec();
    let (left, right) = (Expression::Constant(1), Expression::Constant(2));
    let filter = Some(Filter { comparison: Comparison::Greater, left, right });
    let query = Query { aggregates, filter };
    let table = hits_like(3, 100);
    assert_eq!(twin(&query, &table), [0, 0, i64::MAX, i64::MIN]);
    assert_all_agree(&query, &table);
}

#[test]
fn a_plan_runs_from_many_threads_at_once() {
    let table = hits_like(5, 3_001);
    let expected = twin(&ninety_sums(), &table);
    for kind in PlanKind::ALL {
        let plan = compile(kind, Rewrite::Off, &ninety_sums(), table.schema()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(plan.run(&table), expected, "{}", kind.name()));
            }
        });
    }
}
