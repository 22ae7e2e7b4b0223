//! A short text of an instruction, for excerpts. Not an assembler's: what matchers look at is spelt
//! out, the rest has the name of its group.

use super::super::code::Code;
use super::super::elf::Elf;
use super::class::Class;
use super::insn::{self, Access, Branch, branch, memory, rd, rm, rn};

const CONDITIONS: [&str; 16] = [
    "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv",
];

/// Most lines of one excerpt.
pub const LINES: usize = 24;

/// The lines of a stretch of words, `ADDRESS: WORD  TEXT`.
pub fn listing(elf: &Elf<'_>, code: &Code<'_>, start: usize, end: usize) -> Vec<String> {
    let end = end.min(code.len()).min(start.saturating_add(LINES));
    let line = |index| {
        let (address, word) = (code.at(index), code.word(index));
        format!("{address:x}: {word:08x}  {}", text(elf, code, address, word))
    };
    (start..end).map(line).collect()
}

fn text(elf: &Elf<'_>, code: &Code<'_>, address: u64, word: u32) -> String {
    if let Some((kind, distance)) = branch(word) {
        let target = address.wrapping_add_signed(distance * 4);
        let name = code.called(address).or_else(|| elf.target(target));
        let place =
            name.map_or_else(|| format!("{target:x}"), |name| format!("{target:x} <{name}>"));
        return branch_text(kind, word, &place);
    }
    match word {
        insn::RET => return "ret".to_owned(),
        insn::NOP => return "nop".to_owned(),
        _ => {}
    }
    if let Some(memory) = memory(word) {
        return memory_text(word, memory);
    }
    system(word).or_else(|| arithmetic(word, address)).unwrap_or_else(|| group(word).to_owned())
}

fn branch_text(kind: Branch, word: u32, place: &str) -> String {
    match kind {
        Branch::Always => format!("b {place}"),
        Branch::Call => format!("bl {place}"),
        Branch::Flags(condition) => format!("b.{} {place}", CONDITIONS[usize::from(condition)]),
        Branch::Zero(r, on_zero) => {
            format!("cb{}z {}, {place}", if on_zero { "" } else { "n" }, register(word >> 31, r))
        }
        Branch::Bit(r, bit, on_zero) => {
            let x = u32::from(bit > 31);
            format!("tb{}z {}, #{bit}, {place}", if on_zero { "" } else { "n" }, register(x, r))
        }
    }
}

fn register(wide: u32, number: u8) -> String {
    let letter = if wide == 1 { 'x' } else { 'w' };
    if number == 31 { format!("{letter}zr") } else { format!("{letter}{number}") }
}

fn base(number: u8) -> String {
    if number == 31 { "sp".to_owned() } else { format!("x{number}") }
}

fn memory_text(word: u32, memory: insn::Memory) -> String {
    let size = word >> 30;
    let wide = u32::from(size == 3);
    let suffix = ["b", "h", "", ""][size as usize];
    let place = format!("[{}]", base(memory.base));
    let data = register(wide, rd(word));
    let order = |acquire: u32, release: u32| {
        let letter = |bit: u32, letter| if word >> bit & 1 == 1 { letter } else { "" };
        format!("{}{}", letter(acquire, "a"), letter(release, "l"))
    };
    let pair = memory.access != Access::Load && word >> 21 & 1 == 1;
    match memory.access {
        Access::LoadExclusive => {
            let acquire = if word >> 15 & 1 == 1 { "a" } else { "" };
            format!("ld{acquire}x{}{suffix} {data}, {place}", if pair { "p" } else { "r" })
        }
        Access::StoreExclusive => {
            let release = if word >> 15 & 1 == 1 { "l" } else { "" };
            let status = register(0, rm(word));
            format!(
                "st{release}x{}{suffix} {status}, {data}, {place}",
                if pair { "p" } else { "r" }
            )
        }
        Access::Acquire => format!("ldar{suffix} {data}, {place}"),
        Access::Release => format!("stlr{suffix} {data}, {place}"),
        Access::Compare => {
            let compared = register(wide, rm(word));
            format!("cas{}{suffix} {compared}, {data}, {place}", order(22, 15))
        }
        Access::Atomic => {
            const NAMES: [&str; 8] =
                ["ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin"];
            let swaps = word >> 15 & 1 == 1;
            let name = if swaps { "swp" } else { NAMES[(word >> 12 & 7) as usize] };
            let source = register(wide, rm(word));
            format!("{name}{}{suffix} {source}, {data}, {place}", order(23, 22))
        }
        Access::Load | Access::Store => {
            let name = if memory.access == Access::Load { "ldr" } else { "str" };
            if memory.is_vector {
                return format!("{name} (vector), {place}");
            }
            if word & 0x3A00_0000 == 0x2800_0000 {
                let name = if memory.access == Access::Load { "ldp" } else { "stp" };
                let wide = word >> 31;
                let second = register(wide, (word >> 10 & 31) as u8);
                return format!("{name} {}, {second}, {place}", register(wide, rd(word)));
            }
            if word & 0x3B00_0000 == 0x3900_0000 {
                let offset = (word >> 10 & 0xFFF) << size;
                return format!("{name}{suffix} {data}, [{}, #{offset}]", base(memory.base));
            }
            format!("{name}{suffix} {data}, [{}, ...]", base(memory.base))
        }
    }
}

fn system(word: u32) -> Option<String> {
    let class = super::class::of_system(word)?;
    Some(match class {
        Class::Dmb | Class::Dsb => barrier(word),
        Class::Timer => format!("mrs {}, cntvct_el0", register(1, rd(word))),
        Class::IdRegister => {
            format!("mrs {}, {}", register(1, rd(word)), super::dispatch::id_register(word))
        }
        Class::Bti => "bti".to_owned(),
        Class::Pac => "paciasp".to_owned(),
        Class::Wfet => format!("wfet {}", register(1, rd(word))),
        other => other.hint()?.to_owned(),
    })
}

/// A barrier with its domain.
pub fn barrier(word: u32) -> String {
    const DOMAINS: [&str; 16] = [
        "#0", "oshld", "oshst", "osh", "#4", "nshld", "nshst", "nsh", "#8", "ishld", "ishst",
        "ish", "#12", "ld", "st", "sy",
    ];
    let name = if word & 0xFF == 0xBF { "dmb" } else { "dsb" };
    format!("{name} {}", DOMAINS[(word >> 8 & 15) as usize])
}

fn arithmetic(word: u32, address: u64) -> Option<String> {
    let wide = word >> 31;
    if let Some((register_, number)) = insn::constant(word) {
        return Some(format!("mov {}, #{number:#x}", register(wide, register_)));
    }
    if let Some((to, from)) = insn::move_register(word) {
        return Some(format!("mov {}, {}", register(wide, to), register(wide, from)));
    }
    if let Some((source, number)) = insn::compare_number(word) {
        return Some(format!("cmp {}, #{number}", register(wide, source)));
    }
    if let Some((to, from, number)) = insn::add_number(word) {
        let (name, number) = if number < 0 { ("sub", -number) } else { ("add", number) };
        return Some(format!(
            "{name} {}, {}, #{number:#x}",
            register(wide, to),
            register(wide, from)
        ));
    }
    if word & 0x9F00_0000 == 0x9000_0000 {
        return Some(format!("adrp x{}, {:x}", rd(word), insn::adrp(word, address)));
    }
    let operands = || format!("{}, {}", register(wide, rn(word)), register(wide, rm(word)));
    if word & 0x7F20_001F == 0x6B00_001F {
        return Some(format!("cmp {}", operands()));
    }
    let name = match word & 0x7F20_0000 {
        0x0B00_0000 => "add",
        0x4B00_0000 => "sub",
        0x0A00_0000 => "and",
        0x2A00_0000 => "orr",
        0x4A00_0000 => "eor",
        0x6B00_0000 => "subs",
        _ => return None,
    };
    Some(format!("{name} {}, {}", register(wide, rd(word)), operands()))
}

fn group(word: u32) -> &'static str {
    match word >> 25 & 15 {
        8 | 9 => "(arithmetic with a number)",
        10 | 11 => "(system)",
        4 | 6 | 12 | 14 => "(load or store)",
        5 | 13 => "(arithmetic)",
        7 | 15 => "(vector)",
        2 => "(SVE)",
        _ => "(none)",
    }
}
