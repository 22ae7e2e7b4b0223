//! One executable section: its bytes, what of them is known to be code, and its functions.

use super::ranges::Ranges;

/// A function of which at least the range is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// As in the symbol table.
    pub name: Option<&'a str>,
    /// Whether other images can call it by name.
    pub is_exported: bool,
}

/// A relocation of a call in a file that is not linked.
#[derive(Clone, Copy, Debug)]
pub struct CallRelocation<'a> {
    /// The address of the instruction.
    pub address: u64,
    /// The symbol called.
    pub name: &'a str,
}

/// An executable section, or a segment where there are no sections.
#[derive(Debug, Default)]
pub struct Code<'a> {
    /// The section's name, in files that are not linked (all their sections begin at 0).
    pub section: Option<&'a str>,
    /// Its number in the section table.
    pub index_in_file: Option<usize>,
    /// Address of the first byte.
    pub address: u64,
    /// Its contents.
    pub bytes: &'a [u8],
    /// What is known to be code.
    pub covered: Ranges,
    /// What is known to be data.
    pub data: Ranges,
    /// In the order of addresses, one per start.
    pub functions: Vec<Function<'a>>,
    /// In the order of addresses.
    pub calls: Vec<CallRelocation<'a>>,
}

impl<'a> Code<'a> {
    /// How many whole 32-bit words it has.
    pub fn len(&self) -> usize {
        self.bytes.len() / 4
    }

    /// The word at an index; 0, which is no instruction, outside.
    #[inline]
    pub fn word(&self, index: usize) -> u32 {
        let bytes = index.checked_mul(4).and_then(|at| self.bytes.get(at..at + 4));
        bytes.map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// The address of a word.
    #[inline]
    pub fn at(&self, index: usize) -> u64 {
        self.address.wrapping_add((index as u64).wrapping_mul(4))
    }

    /// The word at an address, if it is in here.
    pub fn index(&self, address: u64) -> Option<usize> {
        let index = usize::try_from(address.checked_sub(self.address)? / 4).ok()?;
        (index < self.len()).then_some(index)
    }

    /// Whether the address is in here.
    pub fn holds(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.bytes.len() as u64)
    }

    /// The function that holds the address.
    pub fn function(&self, address: u64) -> Option<&Function<'a>> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let found = self.functions.get(after.checked_sub(1)?)?;
        (address < found.end).then_some(found)
    }

    /// The name of the function that holds the address.
    pub fn name(&self, address: u64) -> Option<String> {
        self.function(address).and_then(|function| function.name).map(str::to_owned)
    }

    /// The indices of the words of the function around one, or of a stretch around it if no
    /// function is known there.
    pub fn bounds(&self, index: usize) -> (usize, usize) {
        const STRETCH: usize = 256;
        match self.function(self.at(index)) {
            Some(function) => {
                let start = self.index(function.start).unwrap_or(0);
                (start, self.index(function.end).unwrap_or(self.len()))
            }
            None => (index.saturating_sub(STRETCH), (index + STRETCH).min(self.len())),
        }
    }

    /// Whether two addresses can be in one function: they are, or none is known at either.
    pub fn same_function(&self, one: u64, other: u64) -> bool {
        let start = |address| self.function(address).map(|function| function.start);
        start(one) == start(other)
    }

    /// The symbol that an unlinked call refers to.
    pub fn called(&self, address: u64) -> Option<&'a str> {
        let found = self.calls.binary_search_by_key(&address, |call| call.address).ok()?;
        Some(self.calls[found].name)
    }
}

/// Sorts functions by their start; at one start the one with a name, an exported one first. Empty
/// ones are dropped.
pub fn sort(functions: &mut Vec<Function<'_>>) {
    functions.retain(|function| function.start < function.end);
    functions.sort_by_key(|f| (f.start, f.name.is_none(), !f.is_exported, f.end));
}

/// Of sorted functions leaves the first at each start. Where one reaches into the next, it ends
/// there.
pub fn arrange(mut functions: Vec<Function<'_>>) -> Vec<Function<'_>> {
    functions.dedup_by(|later, kept| {
        let same = later.start == kept.start;
        if same && later.name.is_none() {
            // Unwinding information knows the end best.
            kept.end = later.end;
        }
        same
    });
    for k in 1..functions.len() {
        let next = functions[k].start;
        functions[k - 1].end = functions[k - 1].end.min(next);
    }
    functions.shrink_to_fit();
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: Option<&str>) -> Function<'_> {
        Function { start, end, name, is_exported: false }
    }

    #[test]
    fn a_start_has_one_function_with_its_name_and_none_reaches_into_the_next() {
        let mut functions = vec![
            function(16, 40, None),
            function(0, 20, Some("a")),
            function(16, 32, Some("b")),
            function(48, 48, Some("empty")),
        ];
        sort(&mut functions);
        let arranged = arrange(functions);
        assert_eq!(arranged, [function(0, 16, Some("a")), function(16, 40, Some("b"))]);
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let bytes = [0u8; 64];
        let functions = arrange(vec![function(100, 108, Some("a")), function(120, 128, None)]);
        let code = Code { address: 100, bytes: &bytes, functions, ..Code::default() };
        assert_eq!(code.name(104).as_deref(), Some("a"));
        assert!(code.function(108).is_none());
        assert!(code.same_function(100, 104) && !code.same_function(100, 120));
        assert_eq!((code.index(104), code.index(164), code.index(99)), (Some(1), None, None));
        assert_eq!(code.word(1000), 0);
    }
}
