//! Expressions, comparisons and aggregates as Cranelift instructions, for one row, two, or four.
//!
//! Nothing here loops or branches: a filter becomes a mask of all ones or all zeros, under which a
//! sum adds nothing and a least or greatest value stays as it is.

use std::collections::HashMap;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, condcodes::IntCC, types};
use cranelift_frontend::FunctionBuilder;

use super::function::flags;
use crate::data::ColumnType;
use crate::query::{Comparison, Function, Operator};
use crate::resolve::Node;

/// Where a column of the tile is.
#[derive(Clone, Copy)]
pub(super) struct Storage {
    pub place: usize,
    pub address: Value,
    pub kind: ColumnType,
}

/// What the expressions of a loop are made of.
pub(super) struct Inputs<'a> {
    kind: Type,
    columns: &'a [Storage],
    /// Splat constants, made before the loop.
    constants: HashMap<i64, Value>,
    /// Columns already loaded for this vector, by place.
    loaded: HashMap<usize, Value>,
    row: Option<Value>,
    vector: usize,
}

impl<'a> Inputs<'a> {
    pub fn new(kind: Type, columns: &'a [Storage]) -> Self {
        let (constants, loaded) = (HashMap::new(), HashMap::new());
        Self { kind, columns, constants, loaded, row: None, vector: 0 }
    }

    /// Puts the node's constants into vector registers. Scalar ones are immediate operands.
    pub fn prepare(&mut self, builder: &mut FunctionBuilder<'_>, node: &Node) {
        match node {
            Node::Constant(value) if self.kind.is_vector() => {
                let kind = self.kind;
                self.constants.entry(*value).or_insert_with(|| constant(builder, kind, *value));
            }
            Node::Constant(_) | Node::Column(_) => {}
            Node::Binary(_, left, right) => {
                self.prepare(builder, left);
                self.prepare(builder, right);
            }
        }
    }

    /// The next values are those of the n-th vector from this row on.
    pub fn go_to(&mut self, row: Value, vector: usize) {
        self.loaded.clear();
        self.row = Some(row);
        self.vector = vector;
    }

    pub fn value(&mut self, builder: &mut FunctionBuilder<'_>, node: &Node) -> Value {
        match node {
            Node::Column(place) => self.column(builder, *place),
            Node::Constant(value) => match self.constants.get(value) {
                Some(&splat) => splat,
                None => constant(builder, self.kind, *value),
            },
            Node::Binary(operator, left, right) => {
                let left = self.value(builder, left);
                let right = self.value(builder, right);
                match operator {
                    Operator::Add => builder.ins().iadd(left, right),
                    Operator::Subtract => builder.ins().isub(left, right),
                    Operator::Multiply => builder.ins().imul(left, right),
                }
            }
        }
    }

    fn column(&mut self, builder: &mut FunctionBuilder<'_>, place: usize) -> Value {
        if let Some(&known) = self.loaded.get(&place) {
            return known;
        }
        let is_it = |storage: &&Storage| storage.place == place;
        let column = self.columns.iter().find(is_it).expect("columns_read found every column");
        let row = self.row.expect("go_to comes before value");
        let address = element(builder, column.address, row, column.kind);
        let rows = self.vector * self.kind.lane_count() as usize;
        let offset = (rows * column.kind.bytes()) as i32;
        let value = match column.kind {
            ColumnType::I16 if self.kind == types::I32X4 => {
                builder.ins().sload16x4(flags(), address, offset)
            }
            ColumnType::I32 if self.kind == types::I32X4 => {
                builder.ins().load(self.kind, flags(), address, offset)
            }
            ColumnType::I16 => builder.ins().sload16(self.kind, flags(), address, offset),
            ColumnType::I32 => builder.ins().sload32(flags(), address, offset),
            ColumnType::I64 => builder.ins().load(self.kind, flags(), address, offset),
        };
        self.loaded.insert(place, value);
        value
    }
}

/// The address of one row's value.
pub(super) fn element(
    builder: &mut FunctionBuilder<'_>,
    base: Value,
    row: Value,
    kind: ColumnType,
) -> Value {
    let offset = builder.ins().ishl_imm_u(row, i64::from(kind.bytes().ilog2()));
    builder.ins().iadd(base, offset)
}

/// Two neighbouring values of a narrow column, widened.
pub(super) fn load_pair(builder: &mut FunctionBuilder<'_>, column: Storage, row: Value) -> Value {
    let address = element(builder, column.address, row, column.kind);
    match column.kind {
        ColumnType::I16 => {
            let pair = builder.ins().load(types::I32, flags(), address, 0);
            let pair = builder.ins().scalar_to_vector(types::I32X4, pair);
            let mut lanes = MemFlagsData::new();
            lanes.set_endianness(cranelift_codegen::ir::Endianness::Little);
            let pair = builder.ins().bitcast(types::I16X8, lanes, pair);
            let pair = builder.ins().swiden_low(pair);
            builder.ins().swiden_low(pair)
        }
        ColumnType::I32 => builder.ins().sload32x2(flags(), address, 0),
        ColumnType::I64 => builder.ins().load(types::I64X2, flags(), address, 0),
    }
}

/// The same number in all lanes, which are wide enough for it.
pub(super) fn constant(builder: &mut FunctionBuilder<'_>, kind: Type, value: i64) -> Value {
    let lane = kind.lane_type();
    // Cranelift wants no bits above the lane.
    let bits = if lane == types::I32 { i64::from(value as u32) } else { value };
    let scalar = builder.ins().iconst(lane, bits);
    if kind.is_vector() { builder.ins().splat(kind, scalar) } else { scalar }
}

/// Partial sums in two 64-bit lanes: four narrow ones are widened and added in pairs.
pub(super) fn widened(builder: &mut FunctionBuilder<'_>, sums: Value) -> Value {
    if builder.func.dfg.value_type(sums) == types::I64X2 {
        return sums;
    }
    let (low, high) = (builder.ins().swiden_low(sums), builder.ins().swiden_high(sums));
    builder.ins().iadd(low, high)
}

/// All ones where the comparison holds, else all zeros.
pub(super) fn mask(
    builder: &mut FunctionBuilder<'_>,
    kind: Type,
    comparison: Comparison,
    left: Value,
    right: Value,
) -> Value {
    let code = match comparison {
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Less => IntCC::SignedLessThan,
        Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
        Comparison::Greater => IntCC::SignedGreaterThan,
        Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
    };
    let holds = builder.ins().icmp(code, left, right);
    if kind.is_vector() { holds } else { builder.ins().bmask(types::I64, holds) }
}

/// An accumulator and one more value, of the rows in `keep`. The value of COUNT is the mask itself:
/// all ones are -1.
pub(super) fn accumulate(
    builder: &mut FunctionBuilder<'_>,
    function: Function,
    so_far: Value,
    value: Value,
    keep: Option<Value>,
) -> Value {
    match function {
        Function::Sum => {
            let value = keep.map_or(value, |keep| builder.ins().band(value, keep));
            builder.ins().iadd(so_far, value)
        }
        Function::Count => builder.ins().isub(so_far, value),
        Function::Min | Function::Max => {
            let value = keep.map_or(value, |keep| builder.ins().bitselect(keep, value, so_far));
            extreme(builder, function, so_far, value)
        }
    }
}

/// Two partial results of a function as one.
pub(super) fn combine(
    builder: &mut FunctionBuilder<'_>,
    function: Function,
    left: Value,
    right: Value,
) -> Value {
    match function {
        Function::Sum | Function::Count => builder.ins().iadd(left, right),
        Function::Min | Function::Max => extreme(builder, function, left, right),
    }
}

/// Compare and select, since not every CPU has a 64-bit vector minimum.
fn extreme(
    builder: &mut FunctionBuilder<'_>,
    function: Function,
    left: Value,
    right: Value,
) -> Value {
    let code =
        if function == Function::Min { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
    let better = builder.ins().icmp(code, left, right);
    if builder.func.dfg.value_type(left).is_vector() {
        builder.ins().bitselect(better, left, right)
    } else {
        builder.ins().select(better, left, right)
    }
}
