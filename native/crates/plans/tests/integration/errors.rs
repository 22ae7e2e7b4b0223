//! What is refused, and with which words.

use assay_plans::{
    AGGREGATES_MAX, Column, DEPTH_MAX, Expression, NODES_MAX, PlanError, PlanKind, Query, Rewrite,
    Table, compile, hits_like,
};

fn refusals(query: &Query) -> Vec<PlanError> {
    let table = hits_like(1, 10);
    let refuse = |kind| compile(kind, Rewrite::Off, query, table.schema()).err().unwrap();
    PlanKind::ALL.map(refuse).to_vec()
}

#[test]
fn an_unknown_column_is_named_beside_the_known_ones() {
    for refusal in refusals(&Query::sums("height", 1)) {
        let expected = "no column `height`: the table has `width`, `engine`, `region`, `user`";
        assert_eq!(refusal.to_string(), expected);
    }
}

#[test]
fn too_many_aggregates_are_refused_and_the_most_allowed_are_not() {
    for refusal in refusals(&Query::sums("width", AGGREGATES_MAX + 1)) {
        assert!(matches!(refusal, PlanError::TooLarge { what: "aggregates", .. }), "{refusal}");
    }
    let table = hits_like(1, 10);
    for kind in PlanKind::ALL {
        let query = Query::sums("width", AGGREGATES_MAX);
        let plan = compile(kind, Rewrite::Off, &query, table.schema()).unwrap();
        assert_eq!(plan.run(&table).len(), AGGREGATES_MAX);
    }
}

#[test]
fn too_deep_and_too_large_expressions_are_refused() {
    let column = || Expression::column("width");
    let mut query = Query::sums("width", 1);
    query.aggregates[0].argument =
        (0..DEPTH_MAX).fold(column(), |deep, _| deep.plus(Expression::Constant(1)));
    for refusal in refusals(&query) {
        assert!(matches!(refusal, PlanError::TooLarge { what: "levels of nesting", .. }));
    }
    query.aggregates[0].argument =
        (0..NODES_MAX.ilog2()).fold(column(), |wide, _| wide.clone().times(wide));
    for refusal in refusals(&query) {
        assert!(matches!(refusal, PlanError::TooLarge { what: "nodes", .. }));
    }
}

#[test]
fn a_query_without_aggregates_is_refused() {
    let query = Query { aggregates: Vec::new(), filter: None };
    assert!(refusals(&query).iter().all(|refusal| *refusal == PlanError::Empty));
}

#[test]
fn columns_of_a_table_have_names_of_their_own_and_one_length() {
    let named = |name: &str, rows| (name.to_owned(), Column::I32(vec![0; rows]));
    let twice = Table::new(vec![named("a", 1), named("a", 1)]).unwrap_err();
    assert_eq!(twice, PlanError::DuplicateColumn("a".to_owned()));
    let ragged = Table::new(vec![named("a", 3), named("b", 2)]).unwrap_err();
    assert_eq!(ragged.to_string(), "column `b` has 2 rows, the first column 3: cut or extend it");
}

#[test]
#[should_panic(expected = "another schema")]
fn a_table_of_another_schema_is_our_own_mistake() {
    let table = hits_like(1, 10);
    let query = Query::sums("width", 1);
    let plan = compile(PlanKind::CraneliftSimd, Rewrite::Off, &query, table.schema()).unwrap();
    let narrow = Table::new(vec![("width".to_owned(), Column::I16(vec![1; 10]))]).unwrap();
    plan.run(&narrow);
}
