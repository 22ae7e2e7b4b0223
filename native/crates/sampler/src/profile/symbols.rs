//! From addresses to names: the symbol table of an ELF file, and the kernel's own list.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use super::names::plain;

#[derive(Clone, Debug)]
struct Function {
    start: u64,
    end: u64,
    raw: String,
}

/// Functions in the order of their addresses.
#[derive(Clone, Debug, Default)]
struct Functions(Vec<Function>);

impl Functions {
    /// Of several names for one place it is always the same: the shortest, then the first of the
    /// alphabet. What says no end goes on to the next.
    fn of(mut found: Vec<Function>) -> Self {
        found.sort_by(|a, b| (a.start, a.raw.len(), &a.raw).cmp(&(b.start, b.raw.len(), &b.raw)));
        found.dedup_by(|later, kept| {
            let is_same = later.start == kept.start;
            if is_same {
                kept.end = kept.end.max(later.end);
            }
            is_same
        });
        let starts: Vec<u64> = found.iter().skip(1).map(|function| function.start).collect();
        for (function, next) in found.iter_mut().zip(starts) {
            if function.end == function.start {
                function.end = next;
            }
        }
        Self(found)
    }

    fn at(&self, address: u64) -> Option<&str> {
        let behind = self.0.partition_point(|function| function.start <= address);
        let function = self.0.get(behind.checked_sub(1)?)?;
        (address < function.end).then_some(function.raw.as_str())
    }

    /// The next that begins behind an address and close to it.
    fn after(&self, address: u64) -> Option<&str> {
        let next = self.0.get(self.0.partition_point(|function| function.start <= address))?;
        (next.start - address <= CLOSE).then_some(next.raw.as_str())
    }
}

struct Segment {
    file_start: u64,
    file_end: u64,
    address: u64,
}

/// How far the next function with a name may be.
const CLOSE: u64 = 4096;

/// A file of code.
pub struct Image {
    segments: Vec<Segment>,
    functions: Functions,
    /// Where functions begin, by the table for unwinding: it has those too whose names were
    /// stripped.
    starts: Vec<u64>,
}

/// What is known of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The function's name.
    Named(String),
    /// Where it begins (link-time), and the next function that has a name, if that is close by:
    /// parts of one source file mostly lie together.
    Nameless(u64, Option<String>),
}

impl Image {
    /// Reads its symbol table, or that of its dynamic symbols where it was stripped; none if it is
    /// no ELF file.
    pub fn open(path: &Path) -> Option<Self> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        Self::read(&std::fs::read(path).ok()?)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (file_start, length) = segment.file_range();
            Segment { file_start, file_end: file_start + length, address: segment.address() }
        });
        let segments = segments.collect();
        let mut found: Vec<Function> = file.symbols().filter_map(|s| function(&s)).collect();
        if found.is_empty() {
            found = file.dynamic_symbols().filter_map(|s| function(&s)).collect();
        }
        let table = file.section_by_name(".eh_frame_hdr");
        let starts = table.and_then(|table| starts(table.data().ok()?, table.address()));
        Some(Self { segments, functions: Functions::of(found), starts: starts.unwrap_or_default() })
    }

    /// The function at a place of the file; none where nothing is known of it.
    pub fn at(&self, file_offset: u64) -> Option<Place> {
        let segment = (self.segments.iter())
            .find(|of| of.file_start <= file_offset && file_offset < of.file_end)?;
        let address = segment.address + (file_offset - segment.file_start);
        if let Some(raw) = self.functions.at(address) {
            return Some(Place::Named(plain(raw)));
        }
        let behind = self.starts.partition_point(|start| *start <= address);
        let start = *self.starts.get(behind.checked_sub(1)?)?;
        Some(Place::Nameless(start, self.functions.after(address).map(plain)))
    }
}

/// The addresses of `.eh_frame_hdr`, a sorted table of pairs of 32 bits relative to its own place,
/// as linkers write it; none of any other form.
fn starts(table: &[u8], address: u64) -> Option<Vec<u64>> {
    const FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    const HEAD: usize = 12;
    if table.get(..4)? != FORM {
        return None;
    }
    let count = u32::from_le_bytes(table.get(8..HEAD)?.try_into().ok()?) as usize;
    let pairs = table.get(HEAD..)?.chunks_exact(8).take(count);
    let start = |pair: &[u8]| {
        let offset = i32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
        address.wrapping_add_signed(i64::from(offset))
    };
    let mut starts: Vec<u64> = pairs.map(start).collect();
    starts.sort_unstable();
    Some(starts)
}

fn function<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<Function> {
    if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
        return None;
    }
    let raw = symbol.name().ok().filter(|name| !name.is_empty())?;
    let start = symbol.address();
    Some(Function { start, end: start.saturating_add(symbol.size()), raw: raw.to_owned() })
}

/// The kernel's functions; empty where it does not show them.
pub struct Kernel(Functions);

impl Kernel {
    /// Reads /proc/kallsyms.
    pub fn read() -> Self {
        Self::of(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// `address type name [module]`; who may not see addresses is shown zeros.
    fn of(text: &str) -> Self {
        let functions = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let start = u64::from_str_radix(words.next()?, 16).ok().filter(|start| *start > 0)?;
            let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
            let raw = words.next()?.to_owned();
            is_code.then_some(Function { start, end: start, raw })
        });
        Self(Functions::of(functions.collect()))
    }

    /// The function at an address.
    pub fn name_at(&self, address: u64) -> Option<String> {
        self.0.at(address).map(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, raw: &str) -> Function {
        Function { start, end, raw: raw.to_owned() }
    }

    #[test]
    fn an_address_is_of_the_function_that_holds_it_and_of_none_between_two() {
        let functions = Functions::of(vec![
            function(0x200, 0x210, "b"),
            function(0x100, 0x180, "a_long_alias"),
            function(0x100, 0x180, "a"),
        ]);
        assert_eq!(functions.at(0xff), None);
        assert_eq!(functions.at(0x100), Some("a"));
        assert_eq!(functions.at(0x17f), Some("a"));
        assert_eq!(functions.at(0x180), None);
        assert_eq!(functions.at(0x20f), Some("b"));
        assert_eq!(functions.at(0x210), None);
        assert_eq!((functions.after(0x180), functions.after(0x200)), (Some("b"), None));
        assert_eq!(Functions::of(vec![function(0x9000, 0x9100, "far")]).after(0x100), None);
    }

    #[test]
    fn a_function_without_an_end_goes_on_to_the_next() {
        let functions =
            Functions::of(vec![function(0x100, 0x100, "a"), function(0x200, 0x200, "b")]);
        assert_eq!(functions.at(0x1ff), Some("a"));
        assert_eq!(functions.at(0x200), None, "nothing says where the last one ends");
    }

    #[test]
    fn the_kernels_list_has_code_only_and_hidden_addresses_name_nothing() {
        let text = "ffffffff81000000 T start\nffffffff81000100 D data\n\
                    ffffffff81000200 t next\t[module]\nffffffff81000300 T last\n";
        let kernel = Kernel::of(text);
        assert_eq!(kernel.name_at(0xffff_ffff_8100_0150).as_deref(), Some("start"));
        assert_eq!(kernel.name_at(0xffff_ffff_8100_0250).as_deref(), Some("next"));
        let hidden = Kernel::of("0000000000000000 T start\n0000000000000000 T next\n");
        assert_eq!(hidden.name_at(0xffff_ffff_8100_0150), None);
    }

    #[test]
    fn a_table_of_another_form_has_no_starts_and_a_short_one_those_it_holds() {
        let mut table = vec![1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 3, 0, 0, 0];
        for offset in [0x40_i32, 7, -0x100, 8] {
            table.extend(offset.to_le_bytes());
        }
        assert_eq!(starts(&table, 0x1000), Some(vec![0xf00, 0x1040]));
        table[3] = 0x1b;
        assert_eq!(starts(&table, 0x1000), None);
        assert_eq!(starts(&[1, 0x1b], 0), None);
    }

    #[test]
    fn what_is_no_elf_file_is_none() {
        assert!(Image::read(b"#!/bin/sh\n").is_none());
        assert!(Image::open(Path::new("/no/such/file")).is_none());
    }

    /// What an emulator does not show: `scripts/test-aarch64` skips it.
    mod unemulated {
        use super::*;

        /// Kept by its address, so that it is a function of its own in the symbol table.
        #[inline(never)]
        fn is_of_this_program(value: u64) -> u64 {
            std::hint::black_box(value) + 1
        }

        #[test]
        fn this_programs_own_functions_are_found_by_their_place_in_the_file() {
            let own: fn(u64) -> u64 = std::hint::black_box(is_of_this_program);
            assert_eq!(own(1), 2);
            let mut maps = crate::profile::maps::Maps::default();
            maps.read(std::process::id());
            let address = own as usize as u64;
            let (start, mapping) = maps.find(address).unwrap();
            let image = Image::open(Path::new(&mapping.path)).unwrap();
            let offset = address - start + mapping.offset;
            let Some(Place::Named(name)) = image.at(offset) else { panic!("it has a name") };
            let own = "profile::symbols::tests::unemulated::is_of_this_program";
            assert!(name.contains(own), "{name}");
            assert_eq!(image.at(u64::MAX), None);
            // As if it had been stripped.
            let image = Image { functions: Functions::default(), ..image };
            let nameless = image.at(offset);
            assert!(matches!(nameless, Some(Place::Nameless(_, None))), "{nameless:?}");
            assert_eq!(image.at(offset + 1), nameless);
        }
    }
}
