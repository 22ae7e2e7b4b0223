//! The frame of a compiled query: which loops there are, and what runs between them.
//!
//! ```text
//! widen each narrow column of the tile into scratch        (SIMD, where a group needs it)
//! for each group of four aggregates:
//!     for rows, as far as they fill whole steps: body      (SIMD only)
//!     fold the lanes of the accumulators into the results
//!     for the remaining rows: scalar body
//! ```
//!
//! Four aggregates at a time, because their accumulators, the splat constants and temporaries fit
//! the 16 vector registers of x86-64; a group of fewer takes several vectors per step, so that four
//! additions are always in flight. Eight at a time spill constants and take twice as long on a Zen 4
//! core; two vectors per step for full groups change nothing there, as the four vector adders are busy
//! already: an addition of k and one to the sum per two rows, 0.25 cycles per row. Widening once costs a store and a load per row and column
//! instead of three instructions per row, column and group. Groups whose sums provably fit 32 bits
//! (`narrow`) take four rows to a vector and widen as they load.

use cranelift_codegen::ir::{
    BlockArg, Function as Clif, InstBuilder, MemFlagsData, Type, Value, condcodes::IntCC, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::body::{self, Inputs, Storage};
use super::{Lane, TILE, narrow};
use crate::data::ColumnType;
use crate::query::Function;
use crate::resolve::{Node, Resolved};

/// Aggregates per loop, and accumulators in flight.
const ACCUMULATORS: usize = 4;

/// What is compiled.
pub(super) struct Source<'a> {
    pub resolved: &'a Resolved,
    pub columns: &'a [usize],
    pub types: &'a [ColumnType],
    pub lane: Lane,
}

type Group<'a> = &'a [(Function, Node)];

impl Source<'_> {
    pub fn build(
        &self,
        function: &mut Clif,
        building: &mut FunctionBuilderContext,
        target: TargetFrontendConfig,
    ) {
        let mut builder = FunctionBuilder::new(function, building);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let [addresses, rows, results, scratch] = *builder.block_params(entry) else {
            unreachable!("the signature has four parameters");
        };
        let zero = builder.ins().iconst(types::I64, 0);
        let mut stored = Vec::new();
        for (order, &place) in self.columns.iter().enumerate() {
            let offset = (order * size_of::<usize>()) as i32;
            let address = builder.ins().load(types::I64, flags(), addresses, offset);
            stored.push(Storage { place, address, kind: self.types[place] });
        }
        let groups = || self.resolved.aggregates.chunks(ACCUMULATORS);
        let wide = if groups().any(|group| self.shape(group).kind == types::I64X2) {
            widen_all(&mut builder, &stored, scratch, rows)
        } else {
            Vec::new()
        };
        for (number, group) in groups().enumerate() {
            let place_of = |member: usize| ((number * ACCUMULATORS + member) * 8) as i32;
            let mut totals = Vec::new();
            for member in 0..group.len() {
                let so_far = builder.ins().load(types::I64, flags(), results, place_of(member));
                totals.push(so_far);
            }
            let mut begin = zero;
            let shape = self.shape(group);
            if shape.kind.is_vector() {
                let columns = if shape.kind == types::I64X2 { &wide } else { &stored };
                (begin, totals) =
                    self.simd_loop(&mut builder, shape, group, columns, rows, &totals);
            }
            let scalar = Shape { kind: types::I64, vectors: 1 };
            totals = self.rows_loop(&mut builder, scalar, group, &stored, (begin, rows), &totals);
            for (member, total) in totals.into_iter().enumerate() {
                builder.ins().store(flags(), total, results, place_of(member));
            }
        }
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        builder.finalize(target);
    }

    /// What the main loop of a group works on.
    fn shape(&self, group: Group<'_>) -> Shape {
        let kind = match self.lane {
            Lane::Scalar => return Shape { kind: types::I64, vectors: 1 },
            Lane::Simd if narrow::fits(group, self.resolved, self.types) => types::I32X4,
            Lane::Simd => types::I64X2,
        };
        Shape { kind, vectors: ACCUMULATORS / group.len() }
    }

    /// Whole steps of vectors. Returns the first row that is left, and the totals with the others.
    fn simd_loop(
        &self,
        builder: &mut FunctionBuilder<'_>,
        shape: Shape,
        group: Group<'_>,
        columns: &[Storage],
        rows: Value,
        totals: &[Value],
    ) -> (Value, Vec<Value>) {
        let end = whole_steps(builder, rows, shape.rows());
        let zero = builder.ins().iconst(types::I64, 0);
        let mut initial = Vec::new();
        for (function, _) in group {
            let nothing = shape.constant(builder, function.of_nothing());
            initial.extend(vec![nothing; shape.vectors]);
        }
        let vectors = self.rows_loop(builder, shape, group, columns, (zero, end), &initial);
        let mut folded = totals.to_vec();
        for (number, vector) in vectors.into_iter().enumerate() {
            let member = number / shape.vectors;
            let vector = body::widened(builder, vector);
            for lane in 0..2_u8 {
                let part = builder.ins().extractlane(vector, lane);
                folded[member] = body::combine(builder, group[member].0, folded[member], part);
            }
        }
        (end, folded)
    }

    /// The loop over `begin..end`, whose length is a multiple of the shape's rows. Accumulators are
    /// carried in block parameters: `vectors` of the first aggregate, then of the second, ...
    fn rows_loop(
        &self,
        builder: &mut FunctionBuilder<'_>,
        shape: Shape,
        group: Group<'_>,
        columns: &[Storage],
        (begin, end): (Value, Value),
        initial: &[Value],
    ) -> Vec<Value> {
        let mut inputs = Inputs::new(shape.kind, columns);
        let filter = self.resolved.filter.as_ref();
        for node in filter.iter().flat_map(|(_, left, right)| [left, right]) {
            inputs.prepare(builder, node);
        }
        for (_, node) in group {
            inputs.prepare(builder, node);
        }
        let ones = shape.constant(builder, -1);
        let rows = shape.rows();
        counted_loop(builder, (begin, end, rows), initial, |builder, row, accumulators| {
            let mut next = accumulators.to_vec();
            for vector in 0..shape.vectors {
                inputs.go_to(row, vector);
                let keep = filter.map(|(comparison, left, right)| {
                    let left = inputs.value(builder, left);
                    let right = inputs.value(builder, right);
                    body::mask(builder, shape.kind, *comparison, left, right)
                });
                for (member, (function, node)) in group.iter().enumerate() {
                    let slot = &mut next[member * shape.vectors + vector];
                    let value = match function {
                        Function::Count => keep.unwrap_or(ones),
                        _ => inputs.value(builder, node),
                    };
                    *slot = body::accumulate(builder, *function, *slot, value, keep);
                }
            }
            next
        })
    }
}

/// How many rows a step takes, in what.
#[derive(Clone, Copy)]
struct Shape {
    kind: Type,
    vectors: usize,
}

impl Shape {
    fn rows(self) -> i64 {
        i64::from(self.kind.lane_count()) * self.vectors as i64
    }

    fn constant(self, builder: &mut FunctionBuilder<'_>, value: i64) -> Value {
        body::constant(builder, self.kind, value)
    }
}

/// Copies the narrow columns of the tile into scratch, widened; wide ones stay where they are.
fn widen_all(
    builder: &mut FunctionBuilder<'_>,
    columns: &[Storage],
    scratch: Value,
    rows: Value,
) -> Vec<Storage> {
    let mut wide = Vec::new();
    for (order, &column) in columns.iter().enumerate() {
        if column.kind == ColumnType::I64 {
            wide.push(column);
            continue;
        }
        let into = builder.ins().iadd_imm_s(scratch, (order * TILE * 8) as i64);
        // Only whole vectors: an odd last row is read from the column by the scalar loop.
        let end = whole_steps(builder, rows, 2);
        let zero = builder.ins().iconst(types::I64, 0);
        counted_loop(builder, (zero, end, 2), &[], |builder, row, _| {
            let pair = body::load_pair(builder, column, row);
            let address = body::element(builder, into, row, ColumnType::I64);
            builder.ins().store(flags(), pair, address, 0);
            Vec::new()
        });
        wide.push(Storage { address: into, kind: ColumnType::I64, ..column });
    }
    wide
}

/// The rows that fill whole steps, of a power of two. By subtraction, because Cranelift would compute
/// a mask anew in every turn of a loop.
fn whole_steps(builder: &mut FunctionBuilder<'_>, rows: Value, step: i64) -> Value {
    let last = builder.ins().iconst(types::I64, step - 1);
    let rest = builder.ins().band(rows, last);
    builder.ins().isub(rows, rest)
}

/// A loop with its test at the bottom. Leaves the builder after it, and returns what it carried.
fn counted_loop(
    builder: &mut FunctionBuilder<'_>,
    (begin, end, step): (Value, Value, i64),
    initial: &[Value],
    mut body: impl FnMut(&mut FunctionBuilder<'_>, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let (inside, after) = (builder.create_block(), builder.create_block());
    let row = builder.append_block_param(inside, types::I64);
    let kinds: Vec<Type> = initial.iter().map(|&it| builder.func.dfg.value_type(it)).collect();
    let carried: Vec<_> =
        kinds.iter().map(|&kind| builder.append_block_param(inside, kind)).collect();
    let results: Vec<_> =
        kinds.iter().map(|&kind| builder.append_block_param(after, kind)).collect();
    let branch = |builder: &mut FunctionBuilder<'_>, row: Value, values: &[Value]| {
        let more = builder.ins().icmp(IntCC::SignedLessThan, row, end);
        let out: Vec<BlockArg> = values.iter().map(|&it| it.into()).collect();
        let again: Vec<BlockArg> = std::iter::once(row.into()).chain(out.clone()).collect();
        builder.ins().brif(more, inside, &again, after, &out);
    };
    branch(builder, begin, initial);
    builder.switch_to_block(inside);
    let values = body(builder, row, &carried);
    let next = builder.ins().iadd_imm_s(row, step);
    branch(builder, next, &values);
    builder.switch_to_block(after);
    results
}

/// Accesses are in bounds, hence never trap; they may be less aligned than their vectors.
pub(super) fn flags() -> MemFlagsData {
    let mut flags = MemFlagsData::new();
    flags.set_notrap();
    flags
}
