//! The kinds of plan, and the one function that makes them.

use std::time::{Duration, Instant};

use assay_primitives::{Address, named};

use crate::data::{Column, ColumnType, Schema, Table};
use crate::error::PlanError;
use crate::jit::{Jit, Lane};
use crate::query::{Function, Query};
use crate::resolve::Resolved;
use crate::rewrite::{self, Output, Rewrite};
use crate::{bytecode, row, vectorised};

named! {
    /// How a query is run.
    pub enum PlanKind {
        /// A tree of boxed nodes, walked once per row.
        Row "row",
        /// A register machine, run once per row.
        Bytecode "bytecode",
        /// Primitives over batches of rows, compiled ahead of time.
        Vectorised "vectorised",
        /// One function compiled at run time, one row at a time.
        CraneliftScalar "cranelift-scalar",
        /// One function compiled at run time, two rows at a time.
        CraneliftSimd "cranelift-simd",
    }
}

/// The function that spends a plan's time, for a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// What `run` calls.
    pub address: Address,
    /// Its length, known for functions compiled at run time; the executable's symbol table has
    /// those of the others.
    pub bytes: Option<usize>,
    /// Its symbol in the executable, or in the compiled module.
    pub symbol: &'static str,
}

/// A compiled query. It may be run any number of times, from any thread.
pub trait Plan: Send + Sync {
    /// The answers, in the order of the query's aggregates.
    ///
    /// # Panics
    /// If the table's schema is not the one that the plan was compiled for.
    fn run(&self, table: &Table) -> Vec<i64>;

    /// What runs.
    fn code(&self) -> Code;

    /// The machine code of plans compiled at run time, which is in no file.
    fn machine_code(&self) -> Option<&[u8]>;

    /// How long it took to get from the query to this plan.
    fn compile_time(&self) -> Duration;
}

/// Makes a plan, or says what is wrong with the query.
pub fn compile(
    kind: PlanKind,
    rewrite: Rewrite,
    query: &Query,
    schema: &Schema,
) -> Result<Box<dyn Plan>, PlanError> {
    let begin = Instant::now();
    let (resolved, outputs) = rewrite::apply(rewrite, Resolved::new(query, schema)?);
    let types: Vec<ColumnType> = schema.columns().iter().map(|&(_, kind)| kind).collect();
    let executor: Box<dyn Executor> = match kind {
        PlanKind::Row => Box::new(row::Tree::new(&resolved)),
        PlanKind::Bytecode => Box::new(bytecode::Program::new(&resolved)),
        PlanKind::Vectorised => Box::new(vectorised::Pipeline::new(&resolved)),
        PlanKind::CraneliftScalar => Box::new(Jit::new(&resolved, &types, Lane::Scalar)?),
        PlanKind::CraneliftSimd => Box::new(Jit::new(&resolved, &types, Lane::Simd)?),
    };
    let functions = resolved.aggregates.iter().map(|&(function, _)| function).collect();
    let schema = schema.clone();
    Ok(Box::new(Compiled { executor, functions, outputs, schema, compile_time: begin.elapsed() }))
}

/// What differs between the kinds: adding rows to results.
pub(crate) trait Executor: Send + Sync {
    /// Adds all rows to the results, one per aggregate. The columns have the types of the schema
    /// that the plan was made for, and `rows` rows each.
    fn add(&self, columns: &[Column], rows: usize, results: &mut [i64]);

    fn code(&self) -> Code;

    fn machine_code(&self) -> Option<&[u8]> {
        None
    }
}

struct Compiled {
    executor: Box<dyn Executor>,
    functions: Vec<Function>,
    outputs: Option<Vec<Output>>,
    schema: Schema,
    compile_time: Duration,
}

impl Plan for Compiled {
    fn run(&self, table: &Table) -> Vec<i64> {
        assert!(*table.schema() == self.schema, "the plan was compiled for another schema");
        let mut results: Vec<i64> = self.functions.iter().map(|it| it.of_nothing()).collect();
        self.executor.add(table.columns(), table.rows(), &mut results);
        match &self.outputs {
            Some(outputs) => outputs.iter().map(|output| output.of(&results)).collect(),
            None => results,
        }
    }

    fn code(&self) -> Code {
        self.executor.code()
    }

    fn machine_code(&self) -> Option<&[u8]> {
        self.executor.machine_code()
    }

    fn compile_time(&self) -> Duration {
        self.compile_time
    }
}
