//! The vectorised interpreter: one primitive per node and batch of rows (MonetDB/X100).
//!
//! A batch is 1024 rows: 8 KiB per vector, so that a column, a temporary and a result stay in the
//! first-level cache. Columns are widened once per batch, whoever reads them. A filter makes a list
//! of the rows that pass, without branches, and the columns that aggregates read are gathered into
//! dense vectors; everything after knows no filter.
//!
//! The primitives are loops over slices that rustc vectorises for the target's baseline (SSE2 on
//! x86-64: two lanes). One primitive per operator: a fused "add and sum" would be half a compiler.

use assay_primitives::Called;

use crate::data::Column;
use crate::plan::{Code, Executor};
use crate::query::{Comparison, Function, Operator};
use crate::resolve::{Node, Resolved};

/// Rows per batch. X100 found the optimum between 1,000 and 10,000 for caches like these.
const BATCH: usize = 1024;

type Vector = Box<[i64; BATCH]>;

#[derive(Clone, Copy)]
enum Operand {
    /// One of the columns that are read, widened.
    Column(usize),
    /// A temporary.
    Temporary(usize),
    Constant(i64),
}

/// `temporaries[into] = left operator right`; the operands are temporaries above `into`, so that
/// the target can be borrowed apart from them.
struct Step {
    operator: Operator,
    into: usize,
    left: Operand,
    right: Operand,
}

/// An expression: steps, then where its value is.
struct Chain {
    steps: Vec<Step>,
    value: Operand,
}

/// A query as chains of primitives.
pub(crate) struct Pipeline {
    columns: Vec<usize>,
    temporaries: usize,
    filter: Option<(Comparison, Chain, Chain)>,
    aggregates: Vec<(Function, Chain)>,
    function: Called<BatchFunction>,
}

type BatchFunction = fn(&Pipeline, &mut Batch, &mut [i64]);

/// The vectors of a run.
struct Batch {
    rows: usize,
    columns: Vec<Vector>,
    temporaries: Vec<Vector>,
    /// The rows that passed the filter, in the first entries.
    selection: Box<[u16; BATCH]>,
}

impl Pipeline {
    pub fn new(resolved: &Resolved) -> Self {
        let columns = resolved.columns_read();
        let mut temporaries = 0;
        let mut chain = |node: &Node, first: usize| {
            let mut steps = Vec::new();
            let value = lower(node, &columns, first, &mut steps);
            let used = steps.iter().map(|step| step.into + 1).max().unwrap_or(0);
            temporaries = temporaries.max(used);
            Chain { steps, value }
        };
        let filter = resolved.filter.as_ref().map(|(comparison, left, right)| {
            // The right side must leave the value of the left side, which is in temporary 0, alone.
            (*comparison, chain(left, 0), chain(right, 1))
        });
        let aggregates =
            resolved.aggregates.iter().map(|(function, node)| (*function, chain(node, 0)));
        let aggregates = aggregates.collect();
        let function = Called::new(assay_plan_vectorised as BatchFunction);
        Self { columns, temporaries, filter, aggregates, function }
    }
}

/// Appends the steps that compute the node into temporary `into`, unless it is a leaf.
fn lower(node: &Node, columns: &[usize], into: usize, steps: &mut Vec<Step>) -> Operand {
    match node {
        Node::Column(place) => {
            Operand::Column(columns.binary_search(place).expect("columns_read found every column"))
        }
        Node::Constant(value) => Operand::Constant(*value),
        Node::Binary(operator, left, right) => {
            let left = lower(left, columns, into + 1, steps);
            let right = lower(right, columns, into + 2, steps);
            steps.push(Step { operator: *operator, into, left, right });
            Operand::Temporary(into)
        }
    }
}

impl Executor for Pipeline {
    fn add(&self, columns: &[Column], rows: usize, results: &mut [i64]) {
        let vectors = |count| (0..count).map(|_| Box::new([0; BATCH])).collect();
        let mut batch = Batch {
            rows: 0,
            columns: vectors(self.columns.len()),
            temporaries: vectors(self.temporaries),
            selection: Box::new([0; BATCH]),
        };
        for begin in (0..rows).step_by(BATCH) {
            batch.rows = BATCH.min(rows - begin);
            for (vector, &place) in batch.columns.iter_mut().zip(&self.columns) {
                widen(&mut vector[..batch.rows], &columns[place], begin);
            }
            (self.function.function())(self, &mut batch, results);
        }
    }

    fn code(&self) -> Code {
        Code { address: self.function.address(), bytes: None, symbol: "assay_plan_vectorised" }
    }
}

/// Adds the rows of a batch to all results.
#[unsafe(no_mangle)]
#[inline(never)]
fn assay_plan_vectorised(pipeline: &Pipeline, batch: &mut Batch, results: &mut [i64]) {
    if let Some((comparison, left, right)) = &pipeline.filter {
        batch.carry_out(&left.steps);
        batch.carry_out(&right.steps);
        batch.keep(*comparison, left.value, right.value);
    }
    for ((function, chain), result) in pipeline.aggregates.iter().zip(results) {
        if *function == Function::Count {
            *result = result.wrapping_add(batch.rows as i64);
            continue;
        }
        batch.carry_out(&chain.steps);
        *result = batch.aggregate(*function, chain.value, *result);
    }
}

impl Batch {
    fn carry_out(&mut self, steps: &[Step]) {
        let rows = self.rows;
        for step in steps {
            let (below, above) = self.temporaries.split_at_mut(step.into + 1);
            let into = &mut below[step.into][..rows];
            let slice = |operand| match operand {
                Operand::Column(place) => Ok(&self.columns[place][..rows]),
                Operand::Temporary(place) => Ok(&above[place - step.into - 1][..rows]),
                Operand::Constant(value) => Err(value),
            };
            match step.operator {
                Operator::Add => {
                    binary(into, slice(step.left), slice(step.right), |left, right| {
                        Operator::Add.apply(left, right)
                    })
                }
                Operator::Subtract => {
                    binary(into, slice(step.left), slice(step.right), |left, right| {
                        Operator::Subtract.apply(left, right)
                    });
                }
                Operator::Multiply => {
                    binary(into, slice(step.left), slice(step.right), |left, right| {
                        Operator::Multiply.apply(left, right)
                    });
                }
            }
        }
    }

    /// Leaves only the rows for which the comparison holds, in all columns.
    fn keep(&mut self, comparison: Comparison, left: Operand, right: Operand) {
        let mut kept = 0;
        for row in 0..self.rows {
            self.selection[kept] = row as u16;
            let holds = comparison.holds(self.value(left, row), self.value(right, row));
            kept += usize::from(holds);
        }
        for column in &mut self.columns {
            // In place: a selected row is never before the place it goes to.
            for place in 0..kept {
                column[place] = column[usize::from(self.selection[place])];
            }
        }
        self.rows = kept;
    }

    #[inline(always)]
    fn value(&self, operand: Operand, row: usize) -> i64 {
        match operand {
            Operand::Column(place) => self.columns[place][row],
            Operand::Temporary(place) => self.temporaries[place][row],
            Operand::Constant(value) => value,
        }
    }

    fn aggregate(&self, function: Function, value: Operand, so_far: i64) -> i64 {
        let values = match value {
            Operand::Column(place) => &self.columns[place][..self.rows],
            Operand::Temporary(place) => &self.temporaries[place][..self.rows],
            Operand::Constant(value) => {
                return (0..self.rows).fold(so_far, |so_far, _| function.step(so_far, value));
            }
        };
        match function {
            Function::Sum => values.iter().fold(so_far, |sum, &it| Function::Sum.step(sum, it)),
            Function::Min => values.iter().fold(so_far, |least, &it| least.min(it)),
            Function::Max => values.iter().fold(so_far, |greatest, &it| greatest.max(it)),
            Function::Count => so_far.wrapping_add(values.len() as i64),
        }
    }
}

/// One primitive in its four shapes: either side may be a constant.
#[inline(always)]
fn binary(
    into: &mut [i64],
    left: Result<&[i64], i64>,
    right: Result<&[i64], i64>,
    operator: impl Fn(i64, i64) -> i64,
) {
    match (left, right) {
        (Ok(left), Ok(right)) => {
            for ((into, &left), &right) in into.iter_mut().zip(left).zip(right) {
                *into = operator(left, right);
            }
        }
        (Ok(left), Err(right)) => {
            for (into, &left) in into.iter_mut().zip(left) {
                *into = operator(left, right);
            }
        }
        (Err(left), Ok(right)) => {
            for (into, &right) in into.iter_mut().zip(right) {
                *into = operator(left, right);
            }
        }
        (Err(left), Err(right)) => into.fill(operator(left, right)),
    }
}

/// The column's values from `begin` on, as far as there is room.
fn widen(into: &mut [i64], column: &Column, begin: usize) {
    let end = begin + into.len();
    match column {
        Column::I16(values) => copy(into, &values[begin..end]),
        Column::I32(values) => copy(into, &values[begin..end]),
        Column::I64(values) => into.copy_from_slice(&values[begin..end]),
    }
}

fn copy<T: Copy + Into<i64>>(into: &mut [i64], values: &[T]) {
    for (into, &value) in into.iter_mut().zip(values) {
        *into = value.into();
    }
}
