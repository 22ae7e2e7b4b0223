//! Loops of at most 64 instructions: with `pause`, waiting without it, or only counting.
//!
//! What waits without a hint is known by less than on A64: an exchange with memory or a
//! compare-and-swap with a constant that is tried again, or a short loop that does nothing but load
//! from one place and test.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::super::code::Code;
use super::super::elf::Elf;
use super::super::report::{Findings, Kind};
use super::scan::{Class, Loop, Scan};
use super::site;
use super::text::decode;

/// How far from a delay loop, in bytes, an atomic operation makes it look like a back-off.
const NEAR: u64 = 256;
/// How many bytes on a long loop may still lead back.
const LONGEST: u64 = 16_384;
/// The longest loop that is believed to wait by a plain load.
const SHORT: u32 = 6;

/// Finds them all.
pub fn find(elf: &Elf<'_>, code: &Code<'_>, scan: &Scan, findings: &mut Findings) {
    hints(elf, code, scan, findings);
    let mut before: Vec<Loop> = Vec::new();
    for found in &scan.loops {
        before.retain(|earlier| found.last - earlier.last <= 15 * 64);
        let is_inner = !before.iter().any(|earlier| earlier.start >= found.start);
        before.push(*found);
        let hinted = scan.between(found.start, found.last).any(|e| e.class == Class::Pause);
        if !is_inner || hinted || !code.same_function(found.start, found.last) {
            continue;
        }
        let has_atomic = scan
            .between(found.start, found.last)
            .any(|event| matches!(event.class, Class::Lock | Class::XchgMem));
        if found.length > SHORT && !has_atomic {
            continue;
        }
        let instructions = decode(code, found.start, found.last);
        let kind = if let Some(constant) = delay(code, &instructions) {
            let start = found.start.saturating_sub(NEAR);
            let near = scan.between(start, found.last + NEAR).any(|event| {
                matches!(event.class, Class::Lock | Class::XchgMem)
                    && code.same_function(event.address, found.start)
            });
            Kind::DelayLoop { constant, near_atomic: near }
        } else if let Some(by) = waits_by(&instructions) {
            Kind::SpinLoop { hint: "none", by }
        } else {
            continue;
        };
        findings.sites.add(kind, |kind| site(elf, code, kind, found.start, found.last));
    }
}

fn hints(elf: &Elf<'_>, code: &Code<'_>, scan: &Scan, findings: &mut Findings) {
    let mut loops: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut outside: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for event in scan.events.iter().filter(|event| event.class == Class::Pause) {
        let address = event.address;
        match scan.loop_around(address).filter(|found| code.same_function(found.start, address)) {
            Some(found) => _ = loops.insert((found.start, found.last)),
            None if in_long_loop(code, address) => {}
            None => {
                let function = code.function(address).map_or(address, |f| f.start);
                outside.entry(function).or_insert((address, 0)).1 += 1;
            }
        }
    }
    for (start, last) in loops {
        let by = looks_at(&decode(code, start, last));
        let kind = Kind::SpinLoop { hint: "pause", by };
        findings.sites.add(kind, |kind| site(elf, code, kind, start, last));
    }
    for (address, count) in outside.into_values() {
        let kind = Kind::HintOutsideLoop { hint: "pause", count };
        findings.sites.add(kind, |kind| site(elf, code, kind, address, address));
    }
}

/// Whether a jump further down the function leads back to before a place: a loop too long to be a
/// wait, but a loop.
fn in_long_loop(code: &Code<'_>, address: u64) -> bool {
    let Some(function) = code.function(address) else { return false };
    let last = function.end.min(address.saturating_add(LONGEST));
    decode(code, address, last).iter().any(|instruction| {
        matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        ) && (function.start..=address).contains(&instruction.near_branch_target())
    })
}

/// What a loop with a hint looks at.
fn looks_at(instructions: &[Instruction]) -> &'static str {
    let any = |is_it: &dyn Fn(&Instruction) -> bool| instructions.iter().any(is_it);
    if any(&is_exchange) {
        "xchg"
    } else if any(&|instruction| instruction.has_lock_prefix()) {
        "lock"
    } else if any(&has_memory) {
        "load"
    } else {
        "count"
    }
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
        && instruction.mnemonic() != Mnemonic::Lea
        && instruction.mnemonic() != Mnemonic::Nop
}

fn is_exchange(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Xchg && has_memory(instruction)
}

/// By what a loop without a hint waits; `None` if it does not.
fn waits_by(instructions: &[Instruction]) -> Option<&'static str> {
    let mut factory = InstructionInfoFactory::new();
    let mut written: HashSet<Register> = HashSet::new();
    let mut by = None;
    let (last, body) = instructions.split_last()?;
    if last.flow_control() != FlowControl::ConditionalBranch {
        return None;
    }
    for instruction in body {
        match instruction.flow_control() {
            FlowControl::Next
            | FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch => {}
            _ => return None,
        }
        let info = factory.info(instruction);
        let atomic = instruction.has_lock_prefix() || is_exchange(instruction);
        let writes = |access| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        if !atomic && info.used_memory().iter().any(|memory| writes(memory.access())) {
            return None;
        }
        let registers = info.used_registers().iter().filter(|used| writes(used.access()));
        written.extend(registers.map(|used| used.register().full_register()));
        by = match (by, atomic) {
            (_, true) if is_exchange(instruction) => Some("xchg"),
            (_, true) if is_try(instruction, body) => Some("lock"),
            (_, true) => return None,
            (None, false) if has_memory(instruction) => Some("load"),
            (by, false) => by,
        };
    }
    let moves = body.iter().filter(|instruction| has_memory(instruction)).any(|instruction| {
        [instruction.memory_base(), instruction.memory_index()]
            .iter()
            .any(|register| written.contains(&register.full_register()))
            || matches!(instruction.memory_base(), Register::RSP | Register::RBP)
    });
    if moves || (by == Some("load") && !only_tests(body)) {
        return None;
    }
    by
}

/// Whether an atomic operation takes a lock rather than updates a value: bits set or cleared, or a
/// compare-and-swap whose expected value is a constant.
fn is_try(instruction: &Instruction, body: &[Instruction]) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Bts | Mnemonic::Btr => true,
        Mnemonic::Cmpxchg => body.iter().any(|before| {
            let to_rax = before.op0_kind() == OpKind::Register
                && before.op0_register().full_register() == Register::RAX;
            let clears = before.mnemonic() == Mnemonic::Xor
                && before.op1_kind() == OpKind::Register
                && before.op0_register() == before.op1_register();
            let sets = before.mnemonic() == Mnemonic::Mov
                && before.op_count() == 2
                && before.try_immediate(1).is_ok();
            to_rax && (clears || sets)
        }),
        _ => false,
    }
}

/// Whether a loop does nothing but load and test.
fn only_tests(body: &[Instruction]) -> bool {
    body.iter().all(|instruction| {
        let loads = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Movzx)
            && has_memory(instruction);
        loads
            || matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Nop)
            || instruction.flow_control() == FlowControl::ConditionalBranch
    })
}

/// Whether a loop only counts one register by a constant, and from what (if it is a constant too).
fn delay(code: &Code<'_>, instructions: &[Instruction]) -> Option<Option<u64>> {
    let (last, body) = instructions.split_last()?;
    if body.is_empty() || body.len() > 3 || last.flow_control() != FlowControl::ConditionalBranch {
        return None;
    }
    let mut counter = None;
    for instruction in body {
        let register = instruction.op0_register();
        match instruction.mnemonic() {
            Mnemonic::Nop | Mnemonic::Test => {}
            Mnemonic::Cmp if !has_memory(instruction) => {}
            Mnemonic::Sub | Mnemonic::Add | Mnemonic::Dec | Mnemonic::Inc
                if instruction.op0_kind() == OpKind::Register
                    && (instruction.op_count() == 1 || instruction.try_immediate(1).is_ok())
                    && counter.is_none_or(|known| known == register) =>
            {
                counter = Some(register);
            }
            _ => return None,
        }
    }
    let counter = counter?.full_register();
    Some(first_value(code, instructions.first()?.ip(), counter))
}

/// The constant that a register is set to directly before a loop.
fn first_value(code: &Code<'_>, start: u64, register: Register) -> Option<u64> {
    let function = code.function(start)?;
    if start <= function.start || start - function.start > 4096 {
        return None;
    }
    let before = decode(code, function.start, start - 1);
    let mut before = before.iter().rev().take(16);
    let set = before.find(|instruction| {
        instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().full_register() == register
    })?;
    (set.mnemonic() == Mnemonic::Mov).then(|| set.try_immediate(1).ok()).flatten()
}
