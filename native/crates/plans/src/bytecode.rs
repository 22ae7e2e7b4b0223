//! The bytecode interpreter: a register machine of eight-byte instructions, run once per row.
//!
//! Registers hold 64 bits each and are laid out as results, columns, constants, temporaries. A row's
//! columns are loaded once, whoever reads them; constants are loaded once per run. SUM(column + k) is
//! then two instructions per row: an addition of two registers and an addition to a result. There are
//! as many registers as 16 bits can name, so that no access needs a bounds check.
//! A register machine because it dispatches less than a stack machine (Shi et al., "Virtual Machine
//! Showdown: Stack Versus Registers", 2005). No fused instructions: they would be a compiler.

use assay_primitives::Called;

use crate::data::Column;
use crate::plan::{Code, Executor};
use crate::query::{Comparison, Function, Operator};
use crate::resolve::{Node, Resolved};

/// One flat list, so that an instruction is dispatched by one jump.
#[derive(Clone, Copy, Debug)]
#[repr(u16)]
enum Opcode {
    Add,
    Subtract,
    Multiply,
    /// These six end the row unless left and right compare so.
    KeepEqual,
    KeepNotEqual,
    KeepLess,
    KeepLessOrEqual,
    KeepGreater,
    KeepGreaterOrEqual,
    /// These four add the left register to the result in register `into`.
    Sum,
    Count,
    Min,
    Max,
}

impl From<Operator> for Opcode {
    fn from(operator: Operator) -> Self {
        match operator {
            Operator::Add => Opcode::Add,
            Operator::Subtract => Opcode::Subtract,
            Operator::Multiply => Opcode::Multiply,
        }
    }
}

impl From<Comparison> for Opcode {
    fn from(comparison: Comparison) -> Self {
        match comparison {
            Comparison::Equal => Opcode::KeepEqual,
            Comparison::NotEqual => Opcode::KeepNotEqual,
            Comparison::Less => Opcode::KeepLess,
            Comparison::LessOrEqual => Opcode::KeepLessOrEqual,
            Comparison::Greater => Opcode::KeepGreater,
            Comparison::GreaterOrEqual => Opcode::KeepGreaterOrEqual,
        }
    }
}

impl From<Function> for Opcode {
    fn from(function: Function) -> Self {
        match function {
            Function::Sum => Opcode::Sum,
            Function::Count => Opcode::Count,
            Function::Min => Opcode::Min,
            Function::Max => Opcode::Max,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Instruction {
    opcode: Opcode,
    into: u16,
    left: u16,
    right: u16,
}

const _: () = assert!(size_of::<Instruction>() == 8);

/// A query as instructions.
pub(crate) struct Program {
    instructions: Vec<Instruction>,
    columns: Vec<usize>,
    /// What the first registers hold when a run begins.
    registers: Vec<i64>,
    function: Called<RowFunction>,
}

type Registers = [i64; 1 << 16];
type RowFunction = fn(&[Instruction], &mut Registers);

impl Program {
    pub fn new(resolved: &Resolved) -> Self {
        let columns = resolved.columns_read();
        let first_column = resolved.aggregates.len();
        let mut assembler = Assembler {
            instructions: Vec::new(),
            registers: vec![0; first_column + columns.len()],
            columns,
            first_column,
            constants: Vec::new(),
        };
        assembler.collect_constants(resolved);
        let first_free = assembler.registers.len();
        if let Some((comparison, left, right)) = &resolved.filter {
            let left = assembler.operand(left, first_free);
            let right = assembler.operand(right, first_free + 1);
            assembler.emit((*comparison).into(), 0, left, right);
        }
        for (place, (function, argument)) in resolved.aggregates.iter().enumerate() {
            let argument = assembler.operand(argument, first_free);
            assembler.emit((*function).into(), place, argument, argument);
        }
        let Assembler { instructions, columns, registers, .. } = assembler;
        Self {
            instructions,
            columns,
            registers,
            function: Called::new(assay_plan_bytecode as RowFunction),
        }
    }
}

struct Assembler {
    instructions: Vec<Instruction>,
    registers: Vec<i64>,
    columns: Vec<usize>,
    first_column: usize,
    /// Constants and their registers.
    constants: Vec<(i64, usize)>,
}

impl Assembler {
    fn collect_constants(&mut self, resolved: &Resolved) {
        let filter = resolved.filter.iter().flat_map(|(_, left, right)| [left, right]);
        for node in resolved.aggregates.iter().map(|(_, node)| node).chain(filter) {
            self.collect(node);
        }
        self.constants.sort_unstable();
    }

    fn collect(&mut self, node: &Node) {
        match node {
            Node::Column(_) => {}
            Node::Constant(value) => {
                self.constants.push((*value, self.registers.len()));
                self.registers.push(*value);
            }
            Node::Binary(_, left, right) => {
                self.collect(left);
                self.collect(right);
            }
        }
    }

    /// The register that holds the node's value once the emitted instructions ran. Registers from
    /// `free` on may be used for it.
    fn operand(&mut self, node: &Node, free: usize) -> usize {
        match node {
            Node::Column(place) => {
                let order = self.columns.binary_search(place);
                self.first_column + order.expect("columns_read found every column")
            }
            Node::Constant(value) => {
                let known = self.constants.binary_search_by_key(value, |&(known, _)| known);
                self.constants[known.expect("every constant was collected")].1
            }
            Node::Binary(operator, left, right) => {
                let left = self.operand(left, free);
                let right = self.operand(right, free + 1);
                self.emit((*operator).into(), free, left, right);
                free
            }
        }
    }

    fn emit(&mut self, opcode: Opcode, into: usize, left: usize, right: usize) {
        let [into, left, right] = [into, left, right]
            .map(|place| u16::try_from(place).expect("NODES_MAX keeps registers below 65536"));
        self.instructions.push(Instruction { opcode, into, left, right });
    }
}

impl Executor for Program {
    fn add(&self, columns: &[Column], rows: usize, results: &mut [i64]) {
        let mut registers = vec![0; 1 << 16].into_boxed_slice();
        registers[..self.registers.len()].copy_from_slice(&self.registers);
        registers[..results.len()].copy_from_slice(results);
        let registers: &mut Registers =
            registers.as_mut().try_into().expect("the slice was made of this length");
        for row in 0..rows {
            for (register, &place) in registers[results.len()..].iter_mut().zip(&self.columns) {
                *register = columns[place].value(row);
            }
            (self.function.function())(&self.instructions, registers);
        }
        results.copy_from_slice(&registers[..results.len()]);
    }

    fn code(&self) -> Code {
        Code { address: self.function.address(), bytes: None, symbol: "assay_plan_bytecode" }
    }
}

/// Runs the program for the row whose columns are in the registers.
#[unsafe(no_mangle)]
#[inline(never)]
fn assay_plan_bytecode(program: &[Instruction], registers: &mut Registers) {
    for &Instruction { opcode, into, left, right } in program {
        let (into, left, right) =
            (usize::from(into), registers[usize::from(left)], registers[usize::from(right)]);
        let keep = match opcode {
            Opcode::Add => {
                registers[into] = left.wrapping_add(right);
                continue;
            }
            Opcode::Subtract => {
                registers[into] = left.wrapping_sub(right);
                continue;
            }
            Opcode::Multiply => {
                registers[into] = left.wrapping_mul(right);
                continue;
            }
            Opcode::Sum => {
                registers[into] = registers[into].wrapping_add(left);
                continue;
            }
            Opcode::Count => {
                registers[into] = registers[into].wrapping_add(1);
                continue;
            }
            Opcode::Min => {
                registers[into] = registers[into].min(left);
                continue;
            }
            Opcode::Max => {
                registers[into] = registers[into].max(left);
                continue;
            }
            Opcode::KeepEqual => left == right,
            Opcode::KeepNotEqual => left != right,
            Opcode::KeepLess => left < right,
            Opcode::KeepLessOrEqual => left <= right,
            Opcode::KeepGreater => left > right,
            Opcode::KeepGreaterOrEqual => left >= right,
        };
        if !keep {
            return;
        }
    }
}
