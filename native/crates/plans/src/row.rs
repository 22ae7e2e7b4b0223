//! The row interpreter: a tree of boxed nodes, one virtual call per node and row.
//!
//! What a textbook iterator engine does to an expression, without its tuple copying. A node knows
//! nothing about its children but that they have a value.

use assay_primitives::Called;

use crate::data::Column;
use crate::plan::{Code, Executor};
use crate::query::{Comparison, Function, Operator};
use crate::resolve::{Node, Resolved};

trait Evaluate: Send + Sync {
    fn value(&self, columns: &[Column], row: usize) -> i64;
}

type Boxed = Box<dyn Evaluate>;

struct ColumnValue(usize);
struct Constant(i64);
struct Sum(Boxed, Boxed);
struct Difference(Boxed, Boxed);
struct Product(Boxed, Boxed);

impl Evaluate for ColumnValue {
    fn value(&self, columns: &[Column], row: usize) -> i64 {
        columns[self.0].value(row)
    }
}

impl Evaluate for Constant {
    fn value(&self, _: &[Column], _: usize) -> i64 {
        self.0
    }
}

impl Evaluate for Sum {
    fn value(&self, columns: &[Column], row: usize) -> i64 {
        self.0.value(columns, row).wrapping_add(self.1.value(columns, row))
    }
}

impl Evaluate for Difference {
    fn value(&self, columns: &[Column], row: usize) -> i64 {
        self.0.value(columns, row).wrapping_sub(self.1.value(columns, row))
    }
}

impl Evaluate for Product {
    fn value(&self, columns: &[Column], row: usize) -> i64 {
        self.0.value(columns, row).wrapping_mul(self.1.value(columns, row))
    }
}

fn boxed(node: &Node) -> Boxed {
    match node {
        Node::Column(place) => Box::new(ColumnValue(*place)),
        Node::Constant(value) => Box::new(Constant(*value)),
        Node::Binary(operator, left, right) => {
            let (left, right) = (boxed(left), boxed(right));
            match operator {
                Operator::Add => Box::new(Sum(left, right)),
                Operator::Subtract => Box::new(Difference(left, right)),
                Operator::Multiply => Box::new(Product(left, right)),
            }
        }
    }
}

/// A query as trees.
pub(crate) struct Tree {
    aggregates: Vec<(Function, Boxed)>,
    filter: Option<(Comparison, Boxed, Boxed)>,
    function: Called<RowFunction>,
}

type RowFunction = fn(&Tree, &[Column], usize, &mut [i64]);

impl Tree {
    pub fn new(resolved: &Resolved) -> Self {
        let aggregates =
            resolved.aggregates.iter().map(|(function, node)| (*function, boxed(node))).collect();
        let filter = resolved
            .filter
            .as_ref()
            .map(|(comparison, left, right)| (*comparison, boxed(left), boxed(right)));
        Self { aggregates, filter, function: Called::new(assay_plan_row as RowFunction) }
    }
}

impl Executor for Tree {
    fn add(&self, columns: &[Column], rows: usize, results: &mut [i64]) {
        for row in 0..rows {
            (self.function.function())(self, columns, row, results);
        }
    }

    fn code(&self) -> Code {
        Code { address: self.function.address(), bytes: None, symbol: "assay_plan_row" }
    }
}

/// Adds one row to all results.
#[unsafe(no_mangle)]
#[inline(never)]
fn assay_plan_row(tree: &Tree, columns: &[Column], row: usize, results: &mut [i64]) {
    if let Some((comparison, left, right)) = &tree.filter
        && !comparison.holds(left.value(columns, row), right.value(columns, row))
    {
        return;
    }
    for ((function, argument), result) in tree.aggregates.iter().zip(results) {
        *result = function.step(*result, argument.value(columns, row));
    }
}
