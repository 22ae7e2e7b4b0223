//! Counting x86-64 instructions, with iced-x86.
//!
//! `nop` is the one-byte instruction 0x90 only. The longer forms (0f 1f, 66 90) are what compilers
//! align code with, and are not counted; nor is a 0x90 that does that job: one that stands directly
//! before a 16-byte boundary which some jump of the function leads to. A hint could stand in just
//! that place by accident; the tests of the lock paths would then find it missing.

use std::collections::BTreeSet;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use crate::census::Counts;

const CLASSES: [&str; 18] = [
    "pause",
    "nop",
    "lock_prefix",
    "xchg_mem",
    "mfence",
    "lfence",
    "crc32",
    "pclmul",
    "rdtsc",
    "rdtscp",
    "call_direct",
    "call_indirect",
    "vector_128",
    "vector_256",
    "vector_512",
    "xbegin",
    "umwait_tpause",
    "rep_string",
];

/// The number of instructions and the counts by class.
pub fn count(code: &[u8], address: u64) -> (u64, Counts) {
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let targets: BTreeSet<u64> = instructions.iter().filter_map(jump_target).collect();
    let mut counts: Counts = CLASSES.into_iter().map(|class| (class, 0)).collect();
    let mut total = 0;
    for instruction in &instructions {
        if is_padding(instruction, &targets) {
            continue;
        }
        total += 1;
        for class in classes_of(instruction) {
            *counts.entry(class).or_default() += 1;
        }
    }
    (total, counts)
}

fn jump_target(instruction: &Instruction) -> Option<u64> {
    let jumps = matches!(
        instruction.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    );
    let target = instruction.near_branch_target();
    (jumps && target != 0).then_some(target)
}

fn is_padding(instruction: &Instruction, jump_targets: &BTreeSet<u64>) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop if instruction.len() > 1 => true,
        Mnemonic::Nop => {
            let next = instruction.next_ip();
            next.is_multiple_of(16) && jump_targets.contains(&next)
        }
        Mnemonic::INVALID | Mnemonic::Int3 => true,
        _ => false,
    }
}

fn classes_of(instruction: &Instruction) -> impl Iterator<Item = &'static str> {
    let by_mnemonic = match instruction.mnemonic() {
        Mnemonic::Pause => Some("pause"),
        Mnemonic::Nop if instruction.code() == Code::Nopd && instruction.len() == 1 => Some("nop"),
        Mnemonic::Xchg if touches_memory(instruction) => Some("xchg_mem"),
        Mnemonic::Mfence => Some("mfence"),
        Mnemonic::Lfence => Some("lfence"),
        Mnemonic::Crc32 => Some("crc32"),
        Mnemonic::Pclmulqdq | Mnemonic::Vpclmulqdq => Some("pclmul"),
        Mnemonic::Rdtsc => Some("rdtsc"),
        Mnemonic::Rdtscp => Some("rdtscp"),
        Mnemonic::Xbegin => Some("xbegin"),
        Mnemonic::Umwait | Mnemonic::Tpause => Some("umwait_tpause"),
        _ if instruction.is_string_instruction() && instruction.has_rep_prefix() => {
            Some("rep_string")
        }
        _ => None,
    };
    by_mnemonic
        .into_iter()
        .chain(instruction.has_lock_prefix().then_some("lock_prefix"))
        .chain(call_of(instruction))
        .chain(vector_of(instruction))
}

fn call_of(instruction: &Instruction) -> Option<&'static str> {
    match instruction.flow_control() {
        FlowControl::Call => Some("call_direct"),
        FlowControl::IndirectCall => Some("call_indirect"),
        _ => None,
    }
}

/// The widest vector register among the operands.
fn vector_of(instruction: &Instruction) -> Option<&'static str> {
    let registers = (0..instruction.op_count())
        .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand));
    let width = |register: Register| match register {
        _ if register.is_zmm() => Some("vector_512"),
        _ if register.is_ymm() => Some("vector_256"),
        _ if register.is_xmm() => Some("vector_128"),
        _ => None,
    };
    // The names sort by width.
    registers.filter_map(width).max()
}

fn touches_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(code: &[u8]) -> Counts {
        count(code, 0x1000).1.into_iter().filter(|(_, number)| *number > 0).collect()
    }

    #[test]
    fn each_class_is_counted_from_its_bytes() {
        for (class, code) in [
            ("pause", &[0xF3, 0x90][..]),
            ("nop", &[0x90]),
            ("lock_prefix", &[0xF0, 0x48, 0x0F, 0xB1, 0x0F]),
            ("xchg_mem", &[0x48, 0x87, 0x07]),
            ("mfence", &[0x0F, 0xAE, 0xF0]),
            ("crc32", &[0xF2, 0x48, 0x0F, 0x38, 0xF1, 0x07]),
            ("rdtsc", &[0x0F, 0x31]),
            ("rdtscp", &[0x0F, 0x01, 0xF9]),
            ("call_direct", &[0xE8, 0x00, 0x00, 0x00, 0x00]),
            ("call_indirect", &[0xFF, 0xD0]),
            ("vector_128", &[0x66, 0x0F, 0xFE, 0xC1]),
            ("vector_256", &[0xC5, 0xF5, 0xFE, 0xC2]),
            ("vector_512", &[0x62, 0xF1, 0x75, 0x48, 0xFE, 0xC2]),
            ("xbegin", &[0xC7, 0xF8, 0x00, 0x00, 0x00, 0x00]),
            ("rep_string", &[0xF3, 0x48, 0xA5]),
        ] {
            assert_eq!(counted(code), Counts::from([(class, 1)]), "{class}");
        }
    }

    #[test]
    fn an_instruction_on_vectors_has_its_width_beside_its_class() {
        let product = counted(&[0x66, 0x0F, 0x3A, 0x44, 0xC1, 0x00]);
        assert_eq!(product, Counts::from([("pclmul", 1), ("vector_128", 1)]));
    }

    #[test]
    fn alignment_is_not_counted_as_a_hint() {
        // nopl 0(%rax); xchg %ax,%ax; xchg %rax,%rbx (registers only).
        assert!(counted(&[0x0F, 0x1F, 0x00, 0x66, 0x90, 0x48, 0x93]).is_empty());
        // Fifteen bytes, a 90, then a jump to itself on a 16-byte boundary.
        let mut code = vec![0x0F, 0x1F, 0x00, 0x0F, 0x1F, 0x00, 0x0F, 0x1F, 0x00];
        code.extend([0x0F, 0x1F, 0x00, 0x0F, 0x1F, 0x00, 0x90, 0xEB, 0xFE]);
        assert!(counted(&code).is_empty());
        // The same 90 as the head of a loop is a hint.
        assert_eq!(counted(&[0x90, 0xEB, 0xFD]), Counts::from([("nop", 1)]));
    }
}
