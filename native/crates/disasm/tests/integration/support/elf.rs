//! A whole ELF file made in memory: segments, a dynamic table, both tables of symbols.

use super::{push16, push32, push64};

/// Where the code begins.
pub const START: u64 = Elf::BASE + 64 + 4 * 56;
/// A variable that is not in the file.
pub const BSS: u64 = 0x9_0010;

pub const OBJECT: u8 = 1;
pub const FUNCTION: u8 = 2;
pub const INDIRECT: u8 = 10;

/// A symbol: name, kind, address, size. One without a kind is not defined.
pub type Symbol<'s> = (&'s str, u8, u64, u64);

pub fn symbol(name: &str, kind: u8, address: u64, bytes: u64) -> Symbol<'_> {
    (name, kind, address, bytes)
}

pub struct Elf<'e> {
    pub machine: u16,
    pub is_linked: bool,
    pub text: &'e [u8],
    pub interpreter: Option<&'e str>,
    pub needed: &'e [&'e str],
    pub soname: Option<&'e str>,
    pub comment: &'e [u8],
    pub symbols: &'e [Symbol<'e>],
    pub exported: &'e [Symbol<'e>],
}

impl Default for Elf<'_> {
    fn default() -> Self {
        Self {
            machine: 62,
            is_linked: true,
            text: &[0x90],
            interpreter: None,
            needed: &[],
            soname: None,
            comment: &[],
            symbols: &[],
            exported: &[],
        }
    }
}

/// Texts, each once, one after the other.
#[derive(Default)]
struct Texts(Vec<u8>, Vec<(String, u64)>);

impl Texts {
    fn add(&mut self, text: &str) -> u64 {
        if self.0.is_empty() {
            self.0.push(0);
        }
        if let Some((_, at)) = self.1.iter().find(|(known, _)| known == text) {
            return *at;
        }
        let at = self.0.len() as u64;
        self.0.extend(text.as_bytes());
        self.0.push(0);
        self.1.push((text.to_owned(), at));
        at
    }
}

/// Name and type of a section, its flags, and the section that it points to.
const SECTIONS: [(&str, u32, u64, u32); 8] = [
    ("", 0, 0, 0),
    (".text", 1, 6, 0),
    (".symtab", 2, 0, 3),
    (".strtab", 3, 0, 0),
    (".dynsym", 11, 2, 5),
    (".dynstr", 3, 2, 0),
    (".comment", 1, 0, 0),
    (".shstrtab", 3, 0, 0),
];

impl Elf<'_> {
    /// The address of the file's first byte.
    pub const BASE: u64 = 0x1_0000;

    /// Where the code begins in the file.
    pub fn text_at(&self) -> u64 {
        if self.is_linked { START - Self::BASE } else { 64 }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (mut strings, mut dynamic_strings, mut names) =
            (Texts::default(), Texts::default(), Texts::default());
        let own = table(self.symbols, &mut strings);
        let exported = table(self.exported, &mut dynamic_strings);
        let mut dynamic: Vec<u64> = Vec::new();
        let needed = self.needed.iter().map(|name| (1, *name));
        for (tag, name) in needed.chain(self.soname.map(|name| (14, name))) {
            dynamic.extend([tag, dynamic_strings.add(name)]);
        }
        let name_places = SECTIONS.map(|(name, ..)| names.add(name));

        let mut bytes = vec![0; self.text_at() as usize];
        let mut place = |contents: &[u8]| {
            let at = bytes.len().next_multiple_of(8);
            bytes.resize(at, 0);
            bytes.extend(contents);
            (at as u64, contents.len() as u64)
        };
        let text = place(self.text);
        let empty = (0, 0);
        let parts = [
            empty,
            text,
            if self.symbols.is_empty() { empty } else { place(&own) },
            place(&strings.0),
            place(&exported),
            place(&dynamic_strings.0),
            place(self.comment),
            place(&names.0),
        ];
        dynamic.extend([5, Self::BASE + parts[5].0, 0, 0]);
        let mut words = Vec::new();
        push64(&mut words, &dynamic);
        let dynamic = place(&words);
        let interpreter = self.interpreter.map(|path| place(&[path.as_bytes(), b"\0"].concat()));
        let sections_at = bytes.len().next_multiple_of(8);
        bytes.resize(sections_at, 0);
        for (number, (_, kind, flags, link)) in SECTIONS.into_iter().enumerate() {
            let (at, length) = parts[number];
            let is_there = !(kind == 2 && length == 0);
            let address = if self.is_linked && flags & 2 != 0 { Self::BASE + at } else { 0 };
            push32(&mut bytes, &[name_places[number] as u32, if is_there { kind } else { 0 }]);
            push64(&mut bytes, &[flags, address, at, length]);
            push32(&mut bytes, &[link, 1]);
            push64(&mut bytes, &[1, if kind == 2 || kind == 11 { 24 } else { 0 }]);
        }
        let head = self.head(sections_at as u64, bytes.len() as u64, dynamic, interpreter);
        bytes[..head.len()].copy_from_slice(&head);
        bytes
    }

    /// The header, and of a linked file the segments.
    fn head(
        &self,
        sections_at: u64,
        length: u64,
        dynamic: (u64, u64),
        interpreter: Option<(u64, u64)>,
    ) -> Vec<u8> {
        let segments = if self.is_linked { 4 } else { 0 };
        let mut head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        push16(&mut head, &[if self.is_linked { 3 } else { 1 }, self.machine]);
        push32(&mut head, &[1]);
        push64(&mut head, &[0, if segments > 0 { 64 } else { 0 }, sections_at]);
        push32(&mut head, &[0]);
        push16(&mut head, &[64, 56, segments, 64, SECTIONS.len() as u16, 7]);
        if !self.is_linked {
            return head;
        }
        let writable = (BSS & !0xFFF, 0x1000);
        let (interpreter_kind, interpreter) = interpreter.map_or((0, (0, 0)), |place| (3, place));
        for (kind, flags, at, address, file, memory) in [
            (1, 5, 0, Self::BASE, length, length),
            (1, 6, 0, writable.0, 0, writable.1),
            (2, 4, dynamic.0, Self::BASE + dynamic.0, dynamic.1, dynamic.1),
            (interpreter_kind, 4, interpreter.0, 0, interpreter.1, interpreter.1),
        ] {
            push32(&mut head, &[kind, flags]);
            push64(&mut head, &[at, address, address, file, memory, 8]);
        }
        head
    }
}

fn table(symbols: &[Symbol<'_>], names: &mut Texts) -> Vec<u8> {
    let mut bytes = vec![0; 24];
    for (name, kind, address, length) in symbols {
        push32(&mut bytes, &[names.add(name) as u32]);
        bytes.extend([0x10 | kind, 0]);
        push16(&mut bytes, &[u16::from(*kind != 0)]);
        push64(&mut bytes, &[*address, *length]);
    }
    bytes
}
