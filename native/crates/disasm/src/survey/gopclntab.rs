//! The function table of Go programs, `.gopclntab`: names and ranges, in stripped files too.
//!
//! Source of the format: Go's `src/debug/gosym/pclntab.go` (versions 1.16, 1.18 and 1.20 on; Go 1.2's
//! older table is not read).

use super::bytes::Cursor;

const GO_1_16: u32 = 0xFFFF_FFFA;
const GO_1_18: u32 = 0xFFFF_FFF0;
const GO_1_20: u32 = 0xFFFF_FFF1;

/// A function of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoFunction<'a> {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Its name with the package, if it can be read.
    pub name: Option<&'a str>,
}

/// Every function of the table; empty if it is of a version that is not known. `text` is the
/// address of the code, for tables that leave it to the linker.
pub fn functions(table: &[u8], text: u64) -> Vec<GoFunction<'_>> {
    read(table, text).unwrap_or_default()
}

struct Layout {
    functions: u64,
    names: u64,
    entries: u64,
    base: u64,
    wide: bool,
}

fn layout(table: &[u8], text: u64) -> Option<Layout> {
    let mut cursor = Cursor::new(table, 0);
    let magic = cursor.u32()?;
    let head = cursor.take(4)?;
    if head[0] != 0 || head[1] != 0 || head[3] != 8 {
        return None;
    }
    let functions = cursor.u64()?;
    cursor.u64()?; // files
    match magic {
        GO_1_16 => {
            let names = cursor.u64()?;
            cursor.take(24)?;
            Some(Layout { functions, names, entries: cursor.u64()?, base: 0, wide: true })
        }
        GO_1_18 | GO_1_20 => {
            let base = cursor.u64()?;
            let names = cursor.u64()?;
            cursor.take(24)?;
            let base = if base == 0 { text } else { base };
            Some(Layout { functions, names, entries: cursor.u64()?, base, wide: false })
        }
        _ => None,
    }
}

fn read(table: &[u8], text: u64) -> Option<Vec<GoFunction<'_>>> {
    let layout = layout(table, text)?;
    let entries = usize::try_from(layout.entries).ok()?;
    let width: usize = if layout.wide { 8 } else { 4 };
    // A claimed number is believed as far as there are bytes for it.
    let room = table.len().saturating_sub(entries) / (2 * width);
    let count = usize::try_from(layout.functions).ok()?.min(room);
    let field = |cursor: &mut Cursor<'_>| {
        if layout.wide { cursor.u64() } else { cursor.u32().map(u64::from) }
    };
    let mut found = Vec::with_capacity(count);
    let mut cursor = Cursor::new(table, entries);
    let mut start = field(&mut cursor)?;
    for _ in 0..count {
        let function = field(&mut cursor)?;
        let Some(end) = field(&mut cursor) else { break };
        if end > start {
            found.push(GoFunction {
                start: layout.base.wrapping_add(start),
                end: layout.base.wrapping_add(end),
                name: name(table, &layout, entries, function, width),
            });
        }
        start = end;
    }
    Some(found)
}

fn name<'a>(
    table: &'a [u8],
    layout: &Layout,
    entries: usize,
    function: u64,
    width: usize,
) -> Option<&'a str> {
    let record = entries.checked_add(usize::try_from(function).ok()?)?.checked_add(width)?;
    let offset = Cursor::new(table, record).u32()?;
    let at = layout.names.checked_add(u64::from(offset))?;
    let text = Cursor::new(table, usize::try_from(at).ok()?).c_string()?;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions at 0x1000 and 0x1040, the text ending at 0x1080.
    fn table() -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(GO_1_20.to_le_bytes());
        bytes.extend([0, 0, 4, 8]);
        // functions, files, text, names, three tables that are not read, entries.
        for number in [2u64, 0, 0x1000, 72, 0, 0, 0, 88] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"main.a\0main.b\0\0\0");
        for number in [0u32, 20, 0x40, 28, 0x80] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [0u32, 0, 0x40, 7] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn functions_have_names_and_end_where_the_next_begins() {
        let bytes = table();
        let found = functions(&bytes, 0);
        let expected = [(0x1000, 0x1040, "main.a"), (0x1040, 0x1080, "main.b")];
        let expected =
            expected.map(|(start, end, name)| GoFunction { start, end, name: Some(name) });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_table_that_ends_early_or_claims_too_much_is_read_as_far_as_it_goes() {
        let mut bytes = table();
        for length in 0..bytes.len() {
            functions(&bytes[..length], 0);
        }
        bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(functions(&bytes, 0).len() >= 2);
    }
}
