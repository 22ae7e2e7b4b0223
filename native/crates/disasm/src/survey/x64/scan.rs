//! One pass over the instructions of a section, by iced-x86.

use std::sync::LazyLock;

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, Mnemonic,
    OpKind,
};

use super::super::code::Code;

/// The keys of `counts`, in the order of `Class` with three before.
pub const KEYS: [&str; 10] = [
    "insns",
    "lock",
    "xchg_mem",
    "pause",
    "pause_in_loop",
    "crc32",
    "pclmul",
    "rdtsc",
    "xbegin",
    "zmm",
];

/// Backward branches over more instructions make no loop here.
pub const LOOP: usize = 64;

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Lock,
    XchgMem,
    Pause,
    Crc32,
    Pclmul,
    Rdtsc,
    Xbegin,
    Zmm,
}

/// An instruction that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub address: u64,
    pub class: Class,
}

/// A loop: the addresses of its first instruction and of the branch back, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub start: u64,
    pub last: u64,
    /// In instructions.
    pub length: u32,
}

/// What a section holds.
#[derive(Debug, Default)]
pub struct Scan {
    /// By `KEYS`.
    pub counts: [u64; KEYS.len()],
    pub events: Vec<Event>,
    /// In the order of their last instructions.
    pub loops: Vec<Loop>,
}

/// What to look at in an instruction with a given opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Look {
    Nothing,
    /// It may have a `lock` prefix.
    Prefix,
    /// An exchange, which locks without a prefix if memory is involved.
    Exchange,
    Pause,
    Crc32,
    Pclmul,
    Rdtsc,
    Xbegin,
    /// It may use 512-bit registers.
    Wide,
    /// A jump that may go back.
    Jump,
}

/// By opcode: decided once, so that most instructions cost one look-up.
static LOOKS: LazyLock<Vec<Look>> = LazyLock::new(|| Opcode::values().map(look).collect());

fn look(opcode: Opcode) -> Look {
    match opcode.mnemonic() {
        Mnemonic::Pause => return Look::Pause,
        Mnemonic::Crc32 => return Look::Crc32,
        Mnemonic::Pclmulqdq | Mnemonic::Vpclmulqdq => return Look::Pclmul,
        Mnemonic::Rdtsc | Mnemonic::Rdtscp => return Look::Rdtsc,
        Mnemonic::Xbegin => return Look::Xbegin,
        Mnemonic::Xchg => return Look::Exchange,
        Mnemonic::Adc
        | Mnemonic::Add
        | Mnemonic::And
        | Mnemonic::Btc
        | Mnemonic::Btr
        | Mnemonic::Bts
        | Mnemonic::Cmpxchg
        | Mnemonic::Cmpxchg8b
        | Mnemonic::Cmpxchg16b
        | Mnemonic::Dec
        | Mnemonic::Inc
        | Mnemonic::Neg
        | Mnemonic::Not
        | Mnemonic::Or
        | Mnemonic::Sbb
        | Mnemonic::Sub
        | Mnemonic::Xadd
        | Mnemonic::Xor => return Look::Prefix,
        _ => {}
    }
    if matches!(
        opcode.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    ) {
        Look::Jump
    } else if opcode.encoding() == EncodingKind::EVEX {
        Look::Wide
    } else {
        Look::Nothing
    }
}

/// The addresses of the last instructions, to know how far back a branch goes.
struct Recent {
    addresses: [u64; 128],
    count: usize,
}

impl Recent {
    fn push(&mut self, address: u64) {
        self.addresses[self.count & 127] = address;
        self.count += 1;
    }

    /// How many instructions back one with this address is, the last being 0.
    fn back(&self, address: u64) -> Option<usize> {
        (0..=LOOP.min(self.count.checked_sub(1)?))
            .find(|back| self.addresses[(self.count - 1 - back) & 127] == address)
    }
}

/// Decodes a section.
pub fn scan(code: &Code<'_>) -> Scan {
    let mut scan = Scan::default();
    let mut recent = Recent { addresses: [u64::MAX; 128], count: 0 };
    let mut decoder = Decoder::with_ip(64, code.bytes, code.address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let looks = LOOKS.as_slice();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let address = instruction.ip();
        recent.push(address);
        scan.counts[0] += 1;
        let class = match looks[instruction.code() as usize] {
            Look::Nothing => continue,
            Look::Jump => {
                let target = instruction.near_branch_target();
                if target <= address
                    && target != 0
                    && let Some(back) = recent.back(target)
                {
                    let length = back as u32 + 1;
                    scan.loops.push(Loop { start: target, last: address, length });
                }
                continue;
            }
            Look::Prefix if instruction.has_lock_prefix() => Class::Lock,
            Look::Prefix => continue,
            Look::Exchange => match (touches_memory(&instruction), instruction.has_lock_prefix()) {
                (true, with_prefix) => {
                    if with_prefix {
                        scan.add(address, Class::Lock);
                    }
                    Class::XchgMem
                }
                _ => continue,
            },
            Look::Pause => Class::Pause,
            Look::Crc32 => Class::Crc32,
            Look::Pclmul => {
                if uses_zmm(&instruction) {
                    scan.add(address, Class::Zmm);
                }
                Class::Pclmul
            }
            Look::Rdtsc => Class::Rdtsc,
            Look::Xbegin => Class::Xbegin,
            Look::Wide if uses_zmm(&instruction) => Class::Zmm,
            Look::Wide => continue,
        };
        scan.add(address, class);
    }
    let pauses = scan.events.iter().filter(|event| event.class == Class::Pause);
    let in_loops = pauses.filter(|event| scan.loop_around(event.address).is_some()).count();
    scan.counts[4] = in_loops as u64;
    scan
}

impl Scan {
    fn add(&mut self, address: u64, class: Class) {
        let key = match class {
            Class::Lock => 1,
            Class::XchgMem => 2,
            Class::Pause => 3,
            Class::Crc32 => 5,
            Class::Pclmul => 6,
            Class::Rdtsc => 7,
            Class::Xbegin => 8,
            Class::Zmm => 9,
        };
        self.counts[key] += 1;
        // The widest vectors are everywhere or nowhere; only their number is of interest.
        if class != Class::Zmm {
            self.events.push(Event { address, class });
        }
    }

    /// The shortest loop around an address.
    pub fn loop_around(&self, address: u64) -> Option<Loop> {
        /// No instruction is longer.
        const LONGEST: u64 = 15;
        let first = self.loops.partition_point(|found| found.last < address);
        let reach = address.saturating_add(LONGEST * (LOOP as u64 + 1));
        let near = self.loops[first..].iter().take_while(|found| found.last <= reach);
        near.filter(|found| found.start <= address).min_by_key(|found| found.length).copied()
    }

    /// Events between two addresses, the last included.
    pub fn between(&self, start: u64, last: u64) -> impl Iterator<Item = &Event> {
        let first = self.events.partition_point(|event| event.address < start);
        self.events[first..].iter().take_while(move |event| event.address <= last)
    }
}

fn touches_memory(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::Memory || instruction.op1_kind() == OpKind::Memory
}

fn uses_zmm(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand).is_zmm()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(bytes: &[u8]) -> Scan {
        scan(&Code { address: 0x1000, bytes, ..Code::default() })
    }

    #[test]
    fn each_class_is_counted() {
        for (key, bytes) in [
            ("lock", &[0xF0, 0x48, 0x0F, 0xB1, 0x0F][..]),
            ("xchg_mem", &[0x48, 0x87, 0x07]),
            ("pause", &[0xF3, 0x90]),
            ("crc32", &[0xF2, 0x48, 0x0F, 0x38, 0xF1, 0x07]),
            ("pclmul", &[0x66, 0x0F, 0x3A, 0x44, 0xC1, 0x00]),
            ("rdtsc", &[0x0F, 0x31]),
            ("rdtsc", &[0x0F, 0x01, 0xF9]),
            ("xbegin", &[0xC7, 0xF8, 0x00, 0x00, 0x00, 0x00]),
            ("zmm", &[0x62, 0xF1, 0x75, 0x48, 0xFE, 0xC2]),
        ] {
            let counts = scanned(bytes).counts;
            let found: Vec<&str> =
                (0..KEYS.len()).filter(|k| counts[*k] > 0).map(|k| KEYS[k]).collect();
            assert_eq!(found, ["insns", key]);
        }
    }

    #[test]
    fn registers_exchanged_and_vectors_below_512_bits_are_not_counted() {
        // xchg %rax,%rbx; vpaddd %ymm2,%ymm1,%ymm0 by EVEX; add %eax,(%rdi) without lock.
        let counts = scanned(&[0x48, 0x93, 0x62, 0xF1, 0x75, 0x28, 0xFE, 0xC2, 0x01, 0x07]).counts;
        assert_eq!(counts[1..], [0; 9]);
        assert_eq!(counts[0], 3);
    }

    #[test]
    fn a_pause_is_in_a_loop_if_a_branch_at_most_64_instructions_on_goes_back_before_it() {
        // pause; dec %eax; jne to the pause.
        let close = scanned(&[0xF3, 0x90, 0xFF, 0xC8, 0x75, 0xFA]);
        assert_eq!(close.counts[4], 1);
        assert_eq!(close.loops, [Loop { start: 0x1000, last: 0x1004, length: 3 }]);
        for (nops, expected) in [(62, 1), (63, 1), (64, 0)] {
            let mut bytes = vec![0xF3, 0x90];
            bytes.extend(vec![0x90; nops]);
            bytes.extend([0x75, (-(nops as i64) - 4) as u8]);
            assert_eq!(scanned(&bytes).counts[4], expected, "{nops}");
        }
        // Into the middle of an instruction there is no loop.
        assert_eq!(scanned(&[0xB8, 0xF3, 0x90, 0, 0, 0x75, 0xFA]).loops, []);
    }
}
