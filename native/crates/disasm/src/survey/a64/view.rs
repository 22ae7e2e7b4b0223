//! One section with its events and helpers, and what matchers ask of it.

use super::super::addresses::Addresses;
use super::super::code::Code;
use super::super::elf::Elf;
use super::super::report::{Kind, Site, Sites};
use super::body::{Body, Loop};
use super::class::{Event, LOOP_WORDS};
use super::helpers::HelperBody;
use super::insn::branch_to;
use super::text;

/// Names of helpers, and of what gives the CPU away, by the address of their first instruction or of
/// a stub; of the whole image.
pub type HelperNames = Addresses<String>;

/// A section under survey.
pub struct View<'e, 'a> {
    pub elf: &'e Elf<'a>,
    pub code: &'e Code<'a>,
    /// In order, without branches back.
    pub events: Vec<Event>,
    /// The indices of branches back, in order.
    pub back: Vec<u32>,
    pub helpers: Vec<HelperBody>,
    /// The indices of atomic operations, those by calls of helpers included, in order.
    pub updates: Vec<u32>,
}

impl<'e, 'a> View<'e, 'a> {
    /// Events from an index on.
    pub fn from(&self, index: usize) -> &[Event] {
        let first = self.events.partition_point(|event| (event.index as usize) < index);
        &self.events[first..]
    }

    /// Events from an index to another, the latter included.
    pub fn between(&self, start: usize, end: usize) -> impl Iterator<Item = &Event> {
        self.from(start).iter().take_while(move |event| event.index as usize <= end)
    }

    /// The loop that a backward branch closes.
    pub fn closed_by(&self, back: u32) -> Option<Loop> {
        let end = back as usize;
        let (_, start) = branch_to(end, self.code.word(end))?;
        (start <= end).then_some(Loop { start, end })
    }

    /// Every loop around an index, by the counting rule: whatever function its ends are in.
    pub fn loops_around(&self, index: usize) -> impl Iterator<Item = Loop> {
        let first = self.back.partition_point(|back| (*back as usize) < index);
        let last = index + LOOP_WORDS as usize;
        let back = self.back[first..].iter().take_while(move |back| **back as usize <= last);
        back.filter_map(|back| self.closed_by(*back)).filter(move |found| found.holds(index))
    }

    /// The smallest loop that the instruction at an index really belongs to, within one function.
    pub fn true_loop_around(&self, index: usize) -> Option<Loop> {
        let belongs = |found: &Loop| {
            self.is_in_function(*found)
                && Body::of(self.code, *found).is_some_and(|body| body.holds(index))
        };
        self.loops_around(index).filter(belongs).min_by_key(|found| found.len())
    }

    /// Whether both ends are in one function.
    pub fn is_in_function(&self, found: Loop) -> bool {
        self.code.same_function(self.code.at(found.start), self.code.at(found.end))
    }

    /// Whether the index is in a helper.
    pub fn is_in_helper(&self, index: usize) -> bool {
        let after = self.helpers.partition_point(|helper| helper.start <= index);
        after > 0 && index < self.helpers[after - 1].end
    }

    /// The name that a call or jump at an index goes to.
    pub fn callee<'n>(&'n self, index: usize, names: &'n HelperNames) -> Option<&'n str> {
        let address = self.code.at(index);
        if let Some(name) = self.code.called(address) {
            return Some(name);
        }
        let (_, target) = branch_to(index, self.code.word(index))?;
        let target = self.code.at(target);
        names.get(target).map(String::as_str).or_else(|| self.elf.target(target))
    }

    /// The name that a call at an index goes to, if a loop that waits may call it.
    pub fn awaited<'n>(&'n self, index: usize, names: &'n HelperNames) -> Option<&'n str> {
        let address = self.code.at(index);
        if let Some(name) = self.code.called(address) {
            return may_wait(name).then_some(name);
        }
        let (_, target) = branch_to(index, self.code.word(index))?;
        names.get(self.code.at(target)).map(String::as_str)
    }

    /// A site from a stretch of words.
    pub fn site(&self, kind: Kind, start: usize, end: usize) -> Site {
        let address = self.code.at(start);
        Site {
            kind,
            function: self.code.name(address),
            section: self.code.section.map(str::to_owned),
            address,
            length: (end - start) as u64,
            listing: text::listing(self.elf, self.code, start, end),
        }
    }

    /// Adds a site.
    pub fn add(&self, sites: &mut Sites, kind: Kind, start: usize, end: usize) {
        sites.add(kind, |kind| self.site(kind, start, end));
    }
}

const YIELDS: [&str; 4] = ["sched_yield", "__sched_yield", "thrd_yield", "pthread_yield"];

/// Whether a name is of what a loop that waits may call.
pub fn may_wait(name: &str) -> bool {
    is_helper(name) || YIELDS.contains(&name)
}

/// Whether a name is of an outline-atomics helper.
pub fn is_helper(name: &str) -> bool {
    name.strip_prefix("__aarch64_").is_some_and(|rest| {
        ["cas", "swp", "ldadd", "ldclr", "ldeor", "ldset"].iter().any(|op| rest.starts_with(op))
    })
}
