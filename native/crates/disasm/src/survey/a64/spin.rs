//! Loops that wait for another thread: what they look at, and whether they tell the core so.
//!
//! A loop with a hint is one by definition. A loop without is one if it keeps looking at the same
//! place in memory (the address does not depend on what an earlier round computed), if what it sees
//! decides whether it ends, and if it does nothing else: no other stores, no calls but to helpers
//! and to give the CPU away. Compilers move loads that are not volatile or atomic out of such loops,
//! so a load that is still inside is meant to see a change. Loops that try an update of what they have
//! just read again (lock-free counters, lists, states) do not wait, and are left out, unless they go
//! round without trying while what they see forbids it.

use super::super::elf::Elf;
use super::body::{Body, Loop};
use super::class::Class;
use super::insn::{self, Access, Branch, Registers, bit, branch_to, rd, rm};
use super::view::{HelperNames, View, is_helper, may_wait};

/// What a loop waits by, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Helper,
    Lse,
    LlSc,
    Ldar,
    Load,
    Count,
}

impl By {
    /// The name in the output.
    pub fn name(self) -> &'static str {
        ["helper", "lse", "llsc", "ldar", "load", "count"][self as usize]
    }
}

/// Whether it only repeats a store exclusive that failed.
pub fn is_retry(view: &View<'_, '_>, found: Loop) -> bool {
    let status = match branch_to(found.end, view.code.word(found.end)) {
        Some((Branch::Zero(register, false), _)) => register,
        _ => return false,
    };
    view.between(found.start, found.end).any(|event| {
        let word = view.code.word(event.index as usize);
        event.class == Class::StoreExclusive && rm(word) == status
    })
}

/// What a loop with a hint looks at.
pub fn looks_at(view: &View<'_, '_>, names: &HelperNames, body: Body) -> By {
    let by = body.indices().filter_map(|index| {
        let word = view.code.word(index);
        if matches!(insn::branch(word), Some((Branch::Call, _))) {
            return view.awaited(index, names).filter(|name| is_helper(name)).map(|_| By::Helper);
        }
        insn::memory(word).and_then(|memory| match memory.access {
            Access::Compare | Access::Atomic => Some(By::Lse),
            Access::LoadExclusive | Access::StoreExclusive => Some(By::LlSc),
            Access::Acquire => Some(By::Ldar),
            Access::Load => Some(By::Load),
            Access::Store | Access::Release => None,
        })
    });
    by.min().unwrap_or(By::Count)
}

/// What the first instructions of a loop tell of it, those up to the first branch: they belong to it,
/// if it is one. A look at them spares most loops the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// They do what no loop does that waits or only counts.
    Works,
    /// They lead away for good: it is no loop.
    Leaves,
    Open,
}

/// Without atomic operations (`updates`) a loop that waits only looks.
pub fn beginning(
    view: &View<'_, '_>,
    names: &HelperNames,
    found: Loop,
    updates: bool,
) -> Beginning {
    for index in found.start..found.end {
        let word = view.code.word(index);
        if works(view, names, index, word, updates) {
            return Beginning::Works;
        }
        if !insn::may_branch(word) {
            continue;
        }
        match branch_to(index, word) {
            Some((Branch::Always, target)) if !found.holds(target) => return Beginning::Leaves,
            None if insn::is_return_or_jump(word) => return Beginning::Leaves,
            Some(_) => return Beginning::Open,
            None => {}
        }
    }
    Beginning::Open
}

/// Whether an instruction does what none does in such a loop.
fn works(view: &View<'_, '_>, names: &HelperNames, index: usize, word: u32, updates: bool) -> bool {
    if insn::may_branch(word) {
        return match insn::branch(word) {
            Some((Branch::Call, _)) => view.awaited(index, names).is_none(),
            Some(_) => false,
            None => computes_more(word),
        };
    }
    let Some(memory) = insn::memory(word) else { return computes_more(word) };
    let is_store = matches!(memory.access, Access::Store | Access::Release);
    let is_on_stack = memory.base == 31;
    let moves = memory.writes_base && !is_on_stack;
    memory.is_vector || is_store && is_on_stack || !updates && (is_store || moves)
}

/// What a loop that waits may call, by its address: functions of the image, and stubs.
pub fn waiting(elf: &Elf<'_>) -> Vec<(u64, String)> {
    // Programs have tens of thousands of names: of nearly all the beginning is enough.
    let functions = elf.codes.iter().flat_map(|code| &code.functions);
    let named = functions
        .filter(|function| function.name.is_some_and(|name| name.begins(&["__", "sc", "th", "pt"])))
        .filter_map(|function| Some((function.start, function.name()?)));
    let stubs = elf.stubs.iter().map(|(address, name)| (address, *name));
    let waits = named.chain(stubs).filter(|(_, name)| may_wait(name));
    waits.map(|(address, name)| (address, name.to_owned())).collect()
}

/// Whether an instruction that is neither branch nor memory access does more than a loop that waits:
/// it calls an unknown function or the kernel, computes with vectors, or is none of this kind.
fn computes_more(word: u32) -> bool {
    let group = word >> 25 & 15;
    insn::is_indirect_call(word) || word >> 24 == 0xD4 || group < 4 || matches!(group, 7 | 15)
}

/// By what a loop without a hint waits; `None` if it does not.
pub fn waits_by(view: &View<'_, '_>, names: &HelperNames, body: Body, updates: bool) -> Option<By> {
    if body.indices().any(|index| works(view, names, index, view.code.word(index), updates)) {
        return None;
    }
    let mut round = Round::new(view, names, body);
    round.walk()?;
    round.is_second = true;
    round.exits = false;
    round.walk()?;
    let by = round.by?;
    // One that only looks has nothing to store.
    let works = (round.has_moving_load || round.has_store) && by >= By::Ldar;
    let retries = round.retries && !round.skips;
    (round.exits && !works && !retries).then_some(by)
}

/// What is known while walking through a loop twice: once from nothing, once from the first
/// round's end. Branches inside are walked past.
struct Round<'v, 'e, 'a> {
    view: &'v View<'e, 'a>,
    names: &'v HelperNames,
    body: Body,
    /// Registers whose value does not depend on what earlier rounds computed.
    fixed: Registers,
    /// Registers computed from what was seen in memory.
    seen: Registers,
    /// Those of them that come from elsewhere than a load exclusive.
    seen_plainly: Registers,
    flags_seen: bool,
    /// Bases of what is looked at.
    bases: Registers,
    /// The last place where an update is tried.
    tries_at: Option<usize>,
    by: Option<By>,
    has_moving_load: bool,
    has_store: bool,
    retries: bool,
    skips: bool,
    exits: bool,
    is_second: bool,
}

impl<'v, 'e, 'a> Round<'v, 'e, 'a> {
    fn new(view: &'v View<'e, 'a>, names: &'v HelperNames, body: Body) -> Self {
        let words = body.indices().map(|index| view.code.word(index));
        let written = words.fold(0, |all, word| all | insn::writes(word));
        Self {
            view,
            names,
            body,
            fixed: !written,
            seen: 0,
            seen_plainly: 0,
            flags_seen: false,
            bases: 0,
            tries_at: None,
            by: None,
            has_moving_load: false,
            has_store: false,
            retries: false,
            skips: false,
            exits: false,
            is_second: false,
        }
    }

    /// `None` if the loop does something that no waiting loop does.
    fn walk(&mut self) -> Option<()> {
        for index in self.body.indices() {
            let word = self.view.code.word(index);
            if let Some((kind, target)) = branch_to(index, word) {
                match kind {
                    Branch::Call => self.call(index)?,
                    Branch::Always => {}
                    _ => self.branch(index, kind, target),
                }
            } else if let Some(memory) = insn::memory(word) {
                self.memory(index, word, memory)?;
            } else {
                self.compute(word)?;
            }
        }
        Some(())
    }

    fn call(&mut self, index: usize) -> Option<()> {
        let name = self.view.awaited(index, self.names)?;
        if is_helper(name) {
            let is_compare = name.starts_with("__aarch64_cas");
            let pointer = match (is_compare, name.starts_with("__aarch64_cas16")) {
                (true, true) => 4,
                (true, false) => 2,
                _ => 1,
            };
            if self.is_second && self.fixed & bit(pointer) == 0 {
                return None;
            }
            if is_compare {
                self.tries(index, 0);
            }
            self.by = Some(By::Helper);
            self.forget(insn::HELPER_CLOBBERS);
            self.sees(bit(0), true);
        } else {
            self.forget(insn::CALL_CLOBBERS);
        }
        Some(())
    }

    /// Compare and swap, where memory is compared with `expected`.
    fn tries(&mut self, index: usize, expected: u8) {
        self.tries_at = Some(index);
        // A lock is taken from a constant state; what was read just now is an update tried again.
        self.retries |= self.is_second && self.seen & bit(expected) != 0;
    }

    fn branch(&mut self, index: usize, kind: Branch, target: usize) {
        let depends = match kind {
            Branch::Flags(_) => self.flags_seen,
            Branch::Zero(register, _) | Branch::Bit(register, ..) => self.seen & bit(register) != 0,
            _ => false,
        };
        if !depends {
            return;
        }
        self.exits |= !self.body.holds(target) || !self.body.holds(index + 1);
        if let Some(tries_at) = self.tries_at {
            // Round again, past the update or from before it.
            let goes_on = index < tries_at && self.body.holds(target);
            self.skips |= goes_on && (target > tries_at || target <= index);
        }
    }

    fn memory(&mut self, index: usize, word: u32, memory: insn::Memory) -> Option<()> {
        let base = bit(memory.base);
        let is_fixed = (base == 0 || self.fixed & base != 0)
            && memory.index.is_none_or(|index| self.fixed & bit(index) != 0)
            && !memory.writes_base;
        if memory.is_vector {
            return None;
        }
        match memory.access {
            Access::Store | Access::Release => {
                self.has_store = true;
                // Only to what is looked at: the lock.
                return (base != 0 && (self.bases & base != 0 || !self.is_second)).then_some(());
            }
            Access::StoreExclusive => {
                self.retries |= self.is_second && self.seen_plainly & bit(rd(word)) != 0;
                self.forget(bit(rm(word)));
                return Some(());
            }
            // The stack and constants do not change by themselves.
            Access::Load if base == 0 => {
                self.forget(memory.loads);
                self.fixed |= memory.loads;
                return Some(());
            }
            Access::Load if memory.loads == 0 => return Some(()), // PRFM
            _ => {}
        }
        if !is_fixed {
            self.has_moving_load |= self.is_second;
            self.forget(memory.loads);
            let looks = matches!(memory.access, Access::Load | Access::Acquire);
            return (looks || !self.is_second).then_some(());
        }
        let by = match memory.access {
            Access::Compare | Access::Atomic => By::Lse,
            Access::LoadExclusive => By::LlSc,
            Access::Acquire => By::Ldar,
            _ => By::Load,
        };
        match memory.access {
            Access::Compare => self.tries(index, rm(word)),
            Access::LoadExclusive => self.tries_at = Some(index),
            _ => {}
        }
        self.bases |= base;
        self.by = Some(self.by.map_or(by, |known| known.min(by)));
        self.forget(memory.loads);
        // The place is the same every time, what is in it may not be.
        self.fixed |= if by == By::Load { memory.loads } else { 0 };
        self.sees(memory.loads, by != By::LlSc);
        Some(())
    }

    fn compute(&mut self, word: u32) -> Option<()> {
        if computes_more(word) {
            return None;
        }
        let (reads, writes) = (insn::reads(word), insn::writes(word));
        let selects = word & 0x1FE0_0000 == 0x1A80_0000;
        let seen = reads & self.seen != 0 || selects && self.flags_seen;
        let plainly = reads & self.seen_plainly != 0;
        let fixed = reads & !self.fixed == 0 && !selects;
        if insn::sets_flags(word) {
            let is_conditional = word & 0x3FE0_0000 == 0x3A40_0000;
            // Compared with what moves along, it only bounds a count.
            let moves = reads & !self.fixed & !self.seen != 0;
            self.flags_seen = seen && !moves || is_conditional && self.flags_seen;
        }
        self.forget(writes);
        if fixed {
            self.fixed |= writes;
        }
        if seen {
            self.sees(writes, plainly);
        }
        Some(())
    }

    fn forget(&mut self, registers: Registers) {
        self.fixed &= !registers;
        self.seen &= !registers;
        self.seen_plainly &= !registers;
    }

    fn sees(&mut self, registers: Registers, plainly: bool) {
        self.seen |= registers;
        self.seen_plainly |= if plainly { registers } else { 0 };
    }
}
