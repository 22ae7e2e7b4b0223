//! One aggregation over columns of integers, run by five kinds of plan.
//!
//! `SELECT f(e0), f(e1), ... [WHERE a < b]` with `f` one of SUM, COUNT, MIN, MAX is compiled from
//! the same trees for every kind:
//!
//! | kind | unit of work | who made the machine code |
//! |---|---|---|
//! | `row` | one virtual call per node and row | rustc |
//! | `bytecode` | one instruction of a register machine per node and row | rustc |
//! | `vectorised` | one primitive per node and batch of 1024 rows | rustc |
//! | `cranelift-scalar` | one compiled function per query, a row at a time | Cranelift, at run time |
//! | `cranelift-simd` | the same, in vectors of two rows, or of four where 32 bits provably hold sums | Cranelift, at run time |
//!
//! `Rewrite` is a part of its own: turning SUM(e + k) into SUM(e) + k * COUNT is algebra, which any
//! kind can profit from, and no kind does it unasked. Studies can so tell rewriting, compiling and
//! batching apart, which a server's own switch cannot.
//!
//! The question is that of YDB's study of a just-in-time compiler on a public analytics benchmark,
//! whose hardest query for an interpreter is ninety sums of one column plus a constant;
//! `ninety_sums` and `hits_like` have its shape, and none of its text or data. The kinds follow
//! Neumann, "Efficiently Compiling Efficient Query Plans for Modern Hardware" (VLDB 2011) for the
//! compiled ones, and Boncz, Zukowski and Nes, "MonetDB/X100: Hyper-Pipelining Query Execution"
//! (CIDR 2005) for the vectorised one.
//!
//! All arithmetic is that of `i64` and wraps. Not here: groups, joins, nulls, strings, floats,
//! threads, a parser.

mod bytecode;
mod data;
mod error;
mod hits;
mod jit;
mod plan;
mod query;
mod resolve;
mod rewrite;
mod row;
mod vectorised;

pub use data::{Column, ColumnType, Schema, Table};
pub use error::PlanError;
pub use hits::{COLUMN_OF_SUMS, hits_like, ninety_sums};
pub use plan::{Code, Plan, PlanKind, compile};
pub use query::{Aggregate, Comparison, Expression, Filter, Function, Operator, Query};
pub use resolve::{AGGREGATES_MAX, DEPTH_MAX, NODES_MAX};
pub use rewrite::Rewrite;
