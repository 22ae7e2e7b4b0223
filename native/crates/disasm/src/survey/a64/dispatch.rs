//! How an image finds out what the CPU can do: HWCAP bits, ID registers, trying and catching SIGILL,
//! resolvers of indirect functions; and the constructor that the helpers' flag needs.

use super::super::parts;
use super::super::report::{Kind, Sites};
use super::blocks::{Ask, BLOCK, Block, Pages, candidates};
use super::class::{Class, PART};
use super::insn::{self, Branch, adrp, bit, branch_to, rd, rn};
use super::view::{HelperNames, View};

const HWCAP: u64 = 16;
const HWCAP2: u64 = 26;
const SIGILL: u64 = 4;
/// SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
const CRASHES: [u64; 4] = [6, 7, 8, 11];
/// How far from SIGILL they are looked for.
const BESIDE: usize = 64;
/// How far behind the argument the call may be, and how far behind the call its result's use.
const CALL: usize = 6;
const USE: usize = 16;

/// Bits of AT_HWCAP, from 0. Source: Linux, arch/arm64/include/uapi/asm/hwcap.h.
const HWCAP_BITS: [&str; 32] = [
    "fp", "asimd", "evtstrm", "aes", "pmull", "sha1", "sha2", "crc32", "atomics", "fphp",
    "asimdhp", "cpuid", "asimdrdm", "jscvt", "fcma", "lrcpc", "dcpop", "sha3", "sm3", "sm4",
    "asimddp", "sha512", "sve", "asimdfhm", "dit", "uscat", "ilrcpc", "flagm", "ssbs", "sb",
    "paca", "pacg",
];

/// Bits of AT_HWCAP2, from 0.
const HWCAP2_BITS: [&str; 33] = [
    "dcpodp",
    "sve2",
    "sveaes",
    "svepmull",
    "svebitperm",
    "svesha3",
    "svesm4",
    "flagm2",
    "frint",
    "svei8mm",
    "svef32mm",
    "svef64mm",
    "svebf16",
    "i8mm",
    "bf16",
    "dgh",
    "rng",
    "bti",
    "mte",
    "ecv",
    "afp",
    "rpres",
    "mte3",
    "sme",
    "smei16i64",
    "smef64f64",
    "smei8i32",
    "smef16f32",
    "smeb16f32",
    "smef32f32",
    "smefa64",
    "wfxt",
    "ebf16",
];

/// Looks through a section; returns whether anything asks what the CPU can do.
pub fn find(view: &View<'_, '_>, names: &HelperNames, sites: &mut Sites) -> bool {
    let mut asks = false;
    for event in &view.events {
        let index = event.index as usize;
        let word = view.code.word(index);
        match event.class {
            Class::IdRegister => {
                asks |= word & 0xFFFF_F000 == 0xD538_0000;
                let name = id_register(word);
                view.add(sites, Kind::IdRegister { name }, index, index + 1);
            }
            Class::Argument => asks |= argument(view, names, sites, index, word),
            _ => {}
        }
    }
    asks
}

fn argument(
    view: &View<'_, '_>,
    names: &HelperNames,
    sites: &mut Sites,
    index: usize,
    word: u32,
) -> bool {
    let Some((_, number)) = insn::constant(word) else { return false };
    let Some((call, name)) = called_with(view, names, index) else { return false };
    if number == SIGILL {
        let catches = ["sigaction", "signal"].iter().any(|end| name.ends_with(end))
            && !catches_crashes(view, names, index, name);
        if catches {
            view.add(sites, Kind::SigillProbe {}, index, call + 1);
        }
        return catches;
    }
    let asks = name.ends_with("getauxval");
    if asks {
        let (bits, end) = bits(view, number, call);
        view.add(sites, Kind::Hwcap { argument: number, bits }, index, end);
    }
    asks
}

/// The call that an argument is set for, and of what.
fn called_with<'n>(
    view: &'n View<'_, '_>,
    names: &'n HelperNames,
    index: usize,
) -> Option<(usize, &'n str)> {
    let call = (index + 1..=index + CALL).find(|place| {
        let word = view.code.word(*place);
        matches!(insn::branch(word), Some((Branch::Call | Branch::Always, _)))
            || insn::is_indirect_call(word)
            || word == insn::RET
            || insn::writes(word) & 1 != 0
    })?;
    Some((call, view.callee(call, names)?))
}

/// Whether the same function is called for signals of crashes too, close by: then SIGILL is caught
/// to report a crash, and nothing is tried.
fn catches_crashes(view: &View<'_, '_>, names: &HelperNames, index: usize, catches: &str) -> bool {
    (index.saturating_sub(BESIDE)..index + BESIDE).any(|place| {
        let word = view.code.word(place);
        matches!(insn::constant(word), Some((0, number)) if CRASHES.contains(&number))
            && called_with(view, names, place).is_some_and(|(_, name)| name == catches)
    })
}

/// Which bits of the result are looked at, and the index after the last look.
fn bits(view: &View<'_, '_>, argument: u64, call: usize) -> (Vec<String>, usize) {
    let mut result = bit(0);
    let mut found = 0u64;
    let mut end = call + 1;
    for index in call + 1..=call + USE {
        let word = view.code.word(index);
        if word == insn::RET || result == 0 {
            break;
        }
        if let Some((kind, _)) = branch_to(index, word) {
            match kind {
                Branch::Bit(register, number, _) if result & bit(register) != 0 => {
                    found |= 1 << number;
                    end = index + 1;
                }
                Branch::Call => result &= !insn::CALL_CLOBBERS,
                _ => {}
            }
            continue;
        }
        let reads_it = result & bit(rn(word)) != 0;
        let looked = match (insn::logical_number(word), insn::bit_field(word)) {
            (Some(mask), _) if reads_it && mask.count_ones() <= 8 => mask,
            (_, Some((low, width))) if reads_it && width <= 8 => {
                ((1u64 << width) - 1).checked_shl(low).unwrap_or(0)
            }
            _ => 0,
        };
        if looked != 0 {
            found |= looked;
            end = index + 1;
        }
        let moved = insn::move_register(word).filter(|(_, from)| result & bit(*from) != 0);
        result &= !insn::writes(word);
        if let Some((to, _)) = moved {
            result |= bit(to);
        }
    }
    let names = (0..64).filter(|number| found >> number & 1 == 1);
    (names.map(|number| bit_name(argument, number)).collect(), end)
}

fn bit_name(argument: u64, number: usize) -> String {
    let names: &[&str] = match argument {
        HWCAP => &HWCAP_BITS,
        HWCAP2 => &HWCAP2_BITS,
        _ => &[],
    };
    names.get(number).map_or_else(|| format!("bit {number}"), |name| (*name).to_owned())
}

/// The name of a register that says what the CPU can do.
pub fn id_register(word: u32) -> String {
    let known = match word & 0xFFFF_FFE0 {
        0xD538_0000 => "midr_el1",
        0xD538_00A0 => "mpidr_el1",
        0xD538_00C0 => "revidr_el1",
        0xD538_0400 => "id_aa64pfr0_el1",
        0xD538_0420 => "id_aa64pfr1_el1",
        0xD538_0480 => "id_aa64zfr0_el1",
        0xD538_0500 => "id_aa64dfr0_el1",
        0xD538_0600 => "id_aa64isar0_el1",
        0xD538_0620 => "id_aa64isar1_el1",
        0xD538_0640 => "id_aa64isar2_el1",
        0xD538_0700 => "id_aa64mmfr0_el1",
        0xD538_0720 => "id_aa64mmfr1_el1",
        0xD538_0740 => "id_aa64mmfr2_el1",
        0xD53B_0020 => "ctr_el0",
        0xD53B_00E0 => "dczid_el0",
        _ => return format!("s3_0_c0_c{}_{}", word >> 8 & 15, word >> 5 & 7),
    };
    known.to_owned()
}

impl Ask for Pages {
    #[inline(always)]
    fn hits(&self, start: u32, block: &Block) -> Block {
        let mut hits = [0; BLOCK];
        self.add_taken(&mut hits, start, block);
        hits
    }
}

/// Whether some code stores a byte to the flag that helpers read: ADRP of its page, and within a few
/// instructions STRB or STLRB there.
pub fn has_constructor(view: &View<'_, '_>, flag: u64) -> bool {
    const NEXT: usize = 12;
    let (page, offset) = (flag & !0xFFF, (flag & 0xFFF) as u32);
    let sets = |index: usize, word: u32| {
        if word & 0x9F00_0000 != 0x9000_0000 || adrp(word, view.code.at(index)) != page {
            return false;
        }
        let base = rd(word);
        let stores = |place: usize| {
            let word = view.code.word(place);
            word & 0xFFC0_0000 == 0x3900_0000 && rn(word) == base && word >> 10 & 0xFFF == offset
        };
        // Or its address is completed first: `add xN, xBASE, #offset`.
        let completes = |place: usize| {
            insn::add_number(view.code.word(place))
                .is_some_and(|(_, from, number)| from == base && number == i64::from(offset))
        };
        let stores_there = |place: usize| {
            let word = view.code.word(place);
            matches!(insn::memory(word).map(|memory| memory.access),
                     Some(insn::Access::Store | insn::Access::Release) if word >> 30 == 0)
        };
        let mut next = index + 1..=index + NEXT;
        let completed = next.clone().find(|place| completes(*place));
        next.any(stores) || completed.is_some_and(|at| (at + 1..=at + NEXT).any(stores_there))
    };
    let takes = Pages::of(view.code, [flag].into_iter());
    let in_part = |part| {
        let mut found = false;
        candidates(view.code, part, &takes, |index, word| found |= sets(index, word));
        found
    };
    parts::map(view.code.len(), PART, in_part).contains(&true)
}
