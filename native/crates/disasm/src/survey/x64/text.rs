//! A short text of instructions, for excerpts: bytes, mnemonic, and where a branch goes.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

use super::super::code::Code;
use super::super::elf::Elf;

const LINES: usize = 24;

/// The instructions from one address to another, the last included.
pub fn decode(code: &Code<'_>, start: u64, last: u64) -> Vec<Instruction> {
    let offset = start.checked_sub(code.address).and_then(|offset| usize::try_from(offset).ok());
    let Some(bytes) = offset.and_then(|offset| code.bytes.get(offset..)) else {
        return Vec::new();
    };
    let decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    decoder.into_iter().take_while(|instruction| instruction.ip() <= last).collect()
}

/// The lines of a stretch, `ADDRESS: BYTES  TEXT`, and how many instructions it has.
pub fn listing(elf: &Elf<'_>, code: &Code<'_>, start: u64, last: u64) -> (Vec<String>, u64) {
    let instructions = decode(code, start, last);
    let lines = instructions.iter().take(LINES).map(|instruction| line(elf, code, instruction));
    (lines.collect(), instructions.len() as u64)
}

fn line(elf: &Elf<'_>, code: &Code<'_>, instruction: &Instruction) -> String {
    let at = instruction.ip().wrapping_sub(code.address) as usize;
    let bytes = code.bytes.get(at..at + instruction.len()).unwrap_or_default();
    let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let lock = if instruction.has_lock_prefix() { "lock " } else { "" };
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let place = match instruction.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch | FlowControl::Call => {
            let target = instruction.near_branch_target();
            let name = code.called(instruction.ip() + 1).or_else(|| elf.target(target));
            name.map_or_else(|| format!(" {target:x}"), |name| format!(" {target:x} <{name}>"))
        }
        _ => operands(instruction),
    };
    format!("{:x}: {bytes}  {lock}{name}{place}", instruction.ip())
}

fn operands(instruction: &Instruction) -> String {
    use iced_x86::OpKind;
    let operands = (0..instruction.op_count()).map(|operand| match instruction.op_kind(operand) {
        OpKind::Register => format!("{:?}", instruction.op_register(operand)).to_lowercase(),
        OpKind::Memory => {
            let base = format!("{:?}", instruction.memory_base()).to_lowercase();
            format!("[{base} {:+#x}]", instruction.memory_displacement64().cast_signed())
        }
        _ => instruction
            .try_immediate(operand)
            .map_or_else(|_| "...".to_owned(), |number| format!("{number:#x}")),
    });
    let operands: Vec<String> = operands.collect();
    if operands.is_empty() { String::new() } else { format!(" {}", operands.join(", ")) }
}
