//! One executable section: its bytes, what of them is known to be code, and its functions.

use super::ranges::Ranges;

/// A name where it stands in a table of names: its end is looked for when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// That begins with these bytes, and ends before a zero or with the last of them.
    pub fn at(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether it begins with one of these.
    pub fn begins(self, with: &[&str]) -> bool {
        with.iter().any(|with| self.0.starts_with(with.as_bytes()))
    }

    /// The name, if it is text.
    pub fn text(self) -> Option<&'a str> {
        let end = memchr::memchr(0, self.0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).ok()
    }
}

/// A function of which at least the range is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// As in the symbol table.
    pub name: Option<Name<'a>>,
    /// Whether other images can call it by name.
    pub is_exported: bool,
}

impl<'a> Function<'a> {
    /// Its name, if it has one.
    pub fn name(&self) -> Option<&'a str> {
        self.name?.text()
    }
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
        self.function(address).and_then(Function::name).map(str::to_owned)
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
    // Keys are small, functions are not; their numbers keep the order of those that are equal.
    let keys = functions.iter().zip(0usize..).map(|(function, number)| (function.start, number));
    let mut keys: Vec<(u64, usize)> = keys.collect();
    keys.sort_unstable();
    let mut sorted: Vec<Function<'_>> = keys.iter().map(|(_, number)| functions[*number]).collect();
    for same in sorted.chunk_by_mut(|one, other| one.start == other.start) {
        same.sort_by_key(|f| (f.name.is_none(), !f.is_exported, f.end));
    }
    *functions = sorted;
}

/// Sorted functions and sorted ranges without names as one sequence; at one start those with names
/// first.
pub fn merged<'f, 'a>(
    functions: &'f [Function<'a>],
    ranges: &'f [(u64, u64)],
) -> impl Iterator<Item = Function<'a>> + Clone + 'f {
    let (mut functions, mut ranges) = (functions.iter().peekable(), ranges.iter().peekable());
    std::iter::from_fn(move || match (functions.peek(), ranges.peek()) {
        (Some(function), Some((start, _))) if function.start <= *start => functions.next().copied(),
        (Some(_), None) => functions.next().copied(),
        _ => ranges.next().map(|(start, end)| Function {
            start: *start,
            end: *end,
            name: None,
            is_exported: false,
        }),
    })
}

/// Of sorted functions the first at each start. Where one reaches into the next, it ends there.
pub fn arrange<'a>(
    functions: impl Iterator<Item = Function<'a>>,
    most: usize,
) -> Vec<Function<'a>> {
    let mut arranged: Vec<Function<'a>> = Vec::with_capacity(most);
    for function in functions {
        match arranged.last_mut() {
            Some(kept) if kept.start == function.start => {
                if function.name.is_none() {
                    kept.end = function.end; // unwinding information knows the end best
                }
            }
            Some(before) => {
                before.end = before.end.min(function.start);
                arranged.push(function);
            }
            None => arranged.push(function),
        }
    }
    arranged.shrink_to_fit();
    arranged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: Option<&str>) -> Function<'_> {
        let name = name.map(|name| Name::at(name.as_bytes()));
        Function { start, end, name, is_exported: false }
    }

    fn arranged<'a>(mut functions: Vec<Function<'a>>, ranges: &[(u64, u64)]) -> Vec<Function<'a>> {
        sort(&mut functions);
        arrange(merged(&functions, ranges), 0)
    }

    #[test]
    fn a_start_has_one_function_with_its_name_and_none_reaches_into_the_next() {
        let functions = vec![
            function(48, 48, Some("empty")),
            function(0, 20, Some("a")),
            function(16, 32, Some("b")),
        ];
        let arranged = arranged(functions, &[(16, 40), (64, 72)]);
        let expected =
            [function(0, 16, Some("a")), function(16, 40, Some("b")), function(64, 72, None)];
        assert_eq!(arranged, expected);
    }

    #[test]
    fn a_name_ends_before_the_first_zero() {
        assert_eq!(Name::at(b"main\0other\0").text(), Some("main"));
        assert_eq!(Name::at(b"last").text(), Some("last"));
        assert_eq!(Name::at(b"\xFF\0").text(), None, "is no text");
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let bytes = [0u8; 64];
        let functions = arranged(vec![function(100, 108, Some("a"))], &[(120, 128)]);
        let code = Code { address: 100, bytes: &bytes, functions, ..Code::default() };
        assert_eq!(code.name(104).as_deref(), Some("a"));
        assert!(code.function(108).is_none());
        assert!(code.same_function(100, 104) && !code.same_function(100, 120));
        assert_eq!((code.index(104), code.index(164), code.index(99)), (Some(1), None, None));
        assert_eq!(code.word(1000), 0);
    }
}
