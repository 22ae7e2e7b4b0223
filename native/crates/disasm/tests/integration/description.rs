//! What files say of themselves: of ELF files made here, of this very program, and of damaged ones.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::elf::{BSS, Elf, FUNCTION, INDIRECT, OBJECT, START, symbol};
use assay_disasm::description::{Asked, Described, Description, Listed, describe, describe_bytes};
use assay_disasm::{Image, build_id};

const X86_64: u16 = 62;
const AARCH64: u16 = 183;

fn all(bytes: &[u8], asked: &Asked) -> Vec<Described> {
    let mut all = Vec::new();
    let Ok(()) = describe_bytes::<Infallible>("test", bytes, asked, &mut |found| {
        all.push(found);
        Ok(())
    });
    all
}

fn one(bytes: &[u8], asked: &Asked) -> Description {
    match all(bytes, asked).pop() {
        Some(Described::Object(found)) => *found,
        other => panic!("not understood: {other:?}"),
    }
}

fn refusal(bytes: &[u8], asked: &Asked) -> String {
    match all(bytes, asked).pop() {
        Some(Described::Refused(refused)) => refused.why,
        other => panic!("not refused: {other:?}"),
    }
}

fn of_path(path: &Path, asked: &Asked) -> Described {
    let mut all = Vec::new();
    let Ok(()) = describe::<Infallible>(path, asked, &mut |found| {
        all.push(found);
        Ok(())
    });
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn symbols(names: &[&str]) -> Asked {
    Asked { symbols: names.iter().map(|name| (*name).to_owned()).collect(), ..Asked::default() }
}

fn functions(listed: Listed) -> Asked {
    Asked { functions: Some(listed), ..Asked::default() }
}

fn references(function: &str, symbol: &str) -> Asked {
    let pair = (function.to_owned(), symbol.to_owned());
    Asked { references: vec![pair], ..Asked::default() }
}

#[test]
fn headers_and_the_dynamic_table_say_what_a_file_is() {
    let elf = Elf {
        machine: AARCH64,
        interpreter: Some("/lib/ld.so"),
        needed: &["libone.so.1", "libtwo.so"],
        comment: b"GCC: 12\0\0rustc 1.95\0GCC: 12\0",
        ..Elf::default()
    };
    let found = one(&elf.bytes(), &Asked::default());
    assert_eq!((found.arch, found.kind, found.stripped), ("aarch64", "executable", true));
    assert_eq!(found.interpreter.as_deref(), Some("/lib/ld.so"));
    assert_eq!(
        (found.soname, found.needed),
        (None, vec!["libone.so.1".into(), "libtwo.so".into()])
    );
    assert_eq!(found.compilers, ["GCC: 12", "rustc 1.95"]);
    assert_eq!((found.functions, found.build_id), (None, None));

    let elf = Elf { machine: X86_64, soname: Some("libthis.so.3"), ..Elf::default() };
    let found = one(&elf.bytes(), &Asked::default());
    assert_eq!((found.arch, found.kind, found.interpreter), ("x86_64", "shared", None));
    assert_eq!(found.soname.as_deref(), Some("libthis.so.3"));
}

#[test]
fn a_symbol_is_found_by_name_with_its_place_in_the_file() {
    let code = START + 4;
    let elf = Elf {
        text: &[0x90; 32],
        symbols: &[
            symbol("f", FUNCTION, code, 8),
            symbol("twice", FUNCTION, code, 4),
            symbol("twice", FUNCTION, code + 8, 4),
            symbol("counter", OBJECT, BSS, 4),
            symbol("undefined", 0, 0, 0),
        ],
        exported: &[symbol("f", FUNCTION, code, 8), symbol("fast", INDIRECT, code + 16, 4)],
        ..Elf::default()
    };
    let bytes = elf.bytes();
    let asked = symbols(&["f", "counter", "undefined", "twice", "fast", "none"]);
    let found = one(&bytes, &asked);
    let shown: Vec<_> = found
        .symbols
        .iter()
        .map(|it| (it.name.as_str(), it.kind, it.address, it.bytes, it.offset, it.exported))
        .collect();
    let offset = |address: u64| Some(address - Elf::BASE);
    assert_eq!(
        shown,
        [
            ("f", "function", code, 8, offset(code), true),
            ("counter", "variable", BSS, 4, None, false),
            ("twice", "function", code, 4, offset(code), false),
            ("twice", "function", code + 8, 4, offset(code + 8), false),
            ("fast", "indirect-function", code + 16, 4, offset(code + 16), true),
        ]
    );
    assert_eq!((found.missing, found.stripped), (vec!["undefined".into(), "none".into()], false));
    assert_eq!(one(&bytes, &functions(Listed::All)).functions.unwrap(), ["f", "fast", "twice"]);
    assert_eq!(one(&bytes, &functions(Listed::Exported)).functions.unwrap(), ["f", "fast"]);
}

#[test]
fn addresses_in_a_relocatable_file_are_those_within_its_section() {
    let elf = Elf {
        is_linked: false,
        text: &[0x90; 32],
        symbols: &[symbol("f", FUNCTION, 8, 4), symbol("beyond", FUNCTION, 32, 4)],
        ..Elf::default()
    };
    let found = one(&elf.bytes(), &symbols(&["f", "beyond"]));
    assert_eq!(found.kind, "relocatable");
    let [f, beyond] = &found.symbols[..] else { panic!("{found:?}") };
    assert_eq!((f.address, f.offset), (8, Some(elf.text_at() + 8)));
    assert_eq!((beyond.address, beyond.offset), (32, None));
}

/// Where `f` refers to `counter`, and where it is in the file, from the start of the code.
fn places(machine: u16, text: &[u8]) -> Vec<u64> {
    let elf = Elf {
        machine,
        text,
        symbols: &[
            symbol("f", FUNCTION, START, text.len() as u64),
            symbol("counter", OBJECT, BSS, 4),
            symbol("other", OBJECT, BSS + 4, 4),
        ],
        ..Elf::default()
    };
    let found = one(&elf.bytes(), &references("f", "counter"));
    assert!(one(&elf.bytes(), &references("g", "counter")).references.is_empty());
    assert!(one(&elf.bytes(), &references("f", "none")).references.is_empty());
    let place = |it: &assay_disasm::description::Reference| {
        assert_eq!(it.offset, Some(it.address - Elf::BASE));
        assert_eq!((it.function.as_str(), it.symbol.as_str()), ("f", "counter"));
        it.address - START
    };
    found.references.iter().map(place).collect()
}

#[test]
fn references_of_x86_64_are_relative_to_the_instruction_or_absolute() {
    let relative = |at: u64, length: u64, target: u64| {
        ((target - START - at - length) as u32).to_le_bytes().to_vec()
    };
    let text = [
        vec![0x8B, 0x05],
        relative(0, 6, BSS), // mov eax, [rip + counter]
        vec![0x8B, 0x05],
        relative(6, 6, BSS + 4), // mov eax, [rip + other]
        vec![0x83, 0x3D],
        relative(12, 7, BSS + 2),
        vec![1], // cmp dword [rip + counter + 2], 1
        vec![0x48, 0x8D, 0x05],
        relative(19, 7, BSS), // lea rax, [rip + counter]
        vec![0x8B, 0x04, 0x25],
        (BSS as u32).to_le_bytes().to_vec(), // mov eax, [counter]
        vec![0x8B, 0x83],
        (BSS as u32).to_le_bytes().to_vec(), // mov eax, [rbx + counter]
        vec![0xC3],
    ]
    .concat();
    assert_eq!(places(X86_64, &text), [0, 12, 19, 26]);
}

#[test]
fn references_of_aarch64_are_a_page_and_what_is_added_to_it() {
    let page = ((BSS - (START & !0xFFF)) >> 12) as u32;
    let adrp = |register: u32| 0x9000_0000 | (page & 3) << 29 | page >> 2 << 5 | register;
    let low = (BSS & 0xFFF) as u32;
    let words = [
        adrp(0),
        0xB940_0001 | (low / 4) << 10,       // ldr w1, [x0, counter]: 4
        0xB940_0001 | ((low + 4) / 4) << 10, // ldr w1, [x0, other]
        0xF900_0001 | (low / 8) << 10,       // str x1, [x0, counter]: 12
        0x9100_0002 | low << 10,             // add x2, x0, counter: 16
        0x9100_0000,                         // add x0, x0, 0: the page is gone
        0xB940_0001 | (low / 4) << 10,
        adrp(3),
        0xD503_201F,
        0xB940_0061 | (low / 4) << 10, // ldr w1, [x3, counter]: 36
        0xD65F_03C0,
    ];
    let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(places(AARCH64, &text), [4, 12, 16, 36]);
}

#[test]
fn this_program_is_described_as_it_runs() {
    let path = std::env::current_exe().unwrap();
    let Described::Object(found) = of_path(&path, &symbols(&["main"])) else { panic!("refused") };
    let image = Image::open(&path).unwrap();
    let parsed = image.parse().unwrap();
    assert_eq!((found.arch, found.kind), (parsed.set.name(), "executable"));
    assert_eq!(found.build_id, parsed.build_id);
    assert_eq!(build_id(&path).unwrap(), parsed.build_id);
    assert!(found.needed.iter().any(|name| name.starts_with("libc.so")), "{:?}", found.needed);
    assert!(found.interpreter.is_some() && !found.compilers.is_empty() && !found.stripped);
    let main = found.symbols.iter().find(|symbol| symbol.kind == "function").unwrap();
    let own = parsed.functions().into_iter().find(|function| function.raw == "main").unwrap();
    assert_eq!((main.address, main.bytes), (own.address, own.bytes));
    let (start, file) = (main.offset.unwrap() as usize, std::fs::read(&path).unwrap());
    assert_eq!(&file[start..start + main.bytes as usize], parsed.code(&own).unwrap());
}

#[test]
fn names_that_overlap_do_not_fill_the_memory() {
    let long = "n".repeat(2000);
    let many: Vec<_> = (0..2000).map(|_| symbol(&long, FUNCTION, START, 1)).collect();
    let elf = Elf { symbols: &many, text: &[0x90; 8], ..Elf::default() };
    let bytes = elf.bytes();
    assert!(bytes.len() < 2000 * 2000 / 10, "they are one name");
    assert!(refusal(&bytes, &functions(Listed::All)).contains("names overlap"));
    assert_eq!(one(&bytes, &Asked::default()).functions, None);
    // As many as there may be of one name.
    let many: Vec<_> = (0..2000).map(|at| symbol("n", FUNCTION, START + at, 1)).collect();
    let elf = Elf { symbols: &many, text: &[0x90; 8], ..Elf::default() };
    assert_eq!(one(&elf.bytes(), &symbols(&["n"])).symbols.len(), 100);
}

#[test]
fn a_file_cut_anywhere_is_described_as_far_as_it_goes_or_refused() {
    let elf = Elf {
        text: &[0x90; 32],
        needed: &["libc.so.6"],
        comment: b"GCC\0",
        symbols: &[symbol("f", FUNCTION, START, 8), symbol("counter", OBJECT, BSS, 4)],
        exported: &[symbol("f", FUNCTION, START, 8)],
        ..Elf::default()
    };
    let bytes = elf.bytes();
    let asked = Asked { functions: Some(Listed::All), ..references("f", "counter") };
    for length in 0..bytes.len() {
        assert_eq!(all(&bytes[..length], &asked).len(), 1);
    }
}

#[test]
fn what_is_no_elf_file_is_refused_with_the_reason() {
    let asked = Asked::default();
    assert!(refusal(b"#!/bin/sh\n", &asked).contains("a script"));
    let folder = std::env::temp_dir();
    for (path, why) in [(folder.as_path(), "directory"), (Path::new("/dev/null"), "device")] {
        let Described::Refused(refused) = of_path(path, &asked) else { panic!("{path:?}") };
        assert!(refused.why.contains(why), "{}", refused.why);
    }
}

/// A mapped file that another process cuts ends its reader by a signal.
#[test]
fn a_file_that_is_cut_while_it_is_read_is_described_or_refused() {
    let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let path = std::env::temp_dir().join(format!("assay-described-{}", std::process::id()));
    std::fs::write(&path, &whole).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_len(whole.len() as u64 / 3).unwrap();
                std::fs::write(&path, &whole).unwrap();
            }
        });
        (0..20).for_each(|_| drop(of_path(&path, &functions(Listed::All))));
        is_over.store(true, Ordering::Relaxed);
    });
    std::fs::remove_file(&path).unwrap();
}
