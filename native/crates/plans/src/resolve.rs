//! From names to places: the checked trees that every kind of plan is made from.
//!
//! The limits keep what follows simple: the walk of a tree may recurse, registers are numbered in
//! 16 bits, and a compiled function stays small enough for branches and constants of any CPU.

use crate::data::Schema;
use crate::error::PlanError;
use crate::query::{Comparison, Expression, Function, Operator, Query};

/// How many aggregates a query may have.
pub const AGGREGATES_MAX: usize = 1024;
/// How many nodes all expressions of a query may have together.
pub const NODES_MAX: usize = 16_384;
/// How deep an expression may nest. A column or constant alone is 1 deep.
pub const DEPTH_MAX: usize = 64;

/// An expression over places in the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Column(usize),
    Constant(i64),
    Binary(Operator, Box<Node>, Box<Node>),
}

/// A checked query.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub aggregates: Vec<(Function, Node)>,
    pub filter: Option<(Comparison, Node, Node)>,
}

impl Resolved {
    pub fn new(query: &Query, schema: &Schema) -> Result<Self, PlanError> {
        if query.aggregates.is_empty() {
            return Err(PlanError::Empty);
        }
        at_most("aggregates", query.aggregates.len(), AGGREGATES_MAX)?;
        let mut nodes = 0;
        let mut aggregates = Vec::with_capacity(query.aggregates.len());
        for aggregate in &query.aggregates {
            let argument = resolve(&aggregate.argument, schema, 1, &mut nodes)?;
            aggregates.push((aggregate.function, argument));
        }
        let mut filter = None;
        if let Some(wanted) = &query.filter {
            let left = resolve(&wanted.left, schema, 1, &mut nodes)?;
            let right = resolve(&wanted.right, schema, 1, &mut nodes)?;
            filter = Some((wanted.comparison, left, right));
        }
        Ok(Self { aggregates, filter })
    }

    /// The places of the columns that are read, each once, ascending.
    pub fn columns_read(&self) -> Vec<usize> {
        let mut places = Vec::new();
        let filter = self.filter.iter().flat_map(|(_, left, right)| [left, right]);
        for node in self.aggregates.iter().map(|(_, node)| node).chain(filter) {
            node.visit_columns(&mut places);
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Node {
    fn visit_columns(&self, places: &mut Vec<usize>) {
        match self {
            Node::Column(place) => places.push(*place),
            Node::Constant(_) => {}
            Node::Binary(_, left, right) => {
                left.visit_columns(places);
                right.visit_columns(places);
            }
        }
    }
}

fn resolve(
    expression: &Expression,
    schema: &Schema,
    depth: usize,
    nodes: &mut usize,
) -> Result<Node, PlanError> {
    *nodes += 1;
    at_most("levels of nesting", depth, DEPTH_MAX)?;
    at_most("nodes", *nodes, NODES_MAX)?;
    Ok(match expression {
        Expression::Column(name) => Node::Column(schema.place(name)?),
        Expression::Constant(value) => Node::Constant(*value),
        Expression::Binary(operator, left, right) => {
            let left = resolve(left, schema, depth + 1, nodes)?;
            let right = resolve(right, schema, depth + 1, nodes)?;
            Node::Binary(*operator, Box::new(left), Box::new(right))
        }
    })
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), PlanError> {
    if found > limit { Err(PlanError::TooLarge { what, found, limit }) } else { Ok(()) }
}
