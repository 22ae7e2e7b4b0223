//! The witness: the machine code of each slow path holds the hint of its name and no other, and the
//! function that a `Waiting` calls is the one with that name.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use std::path::Path;

use assay_disasm::{Function, Image, census};
use assay_primitives::locks::Waiting;
use assay_primitives::{Clock, Crc32c, Crc32cLevel, Hint, LockKind};

const HINT_CLASSES: [&str; 5] = ["nop", "pause", "yield", "isb", "wfe"];

fn functions(names: &[String]) -> Vec<Function> {
    let image = Image::open(Path::new("/proc/self/exe")).unwrap();
    let census = census::take(&image.parse().unwrap(), names, &[]);
    assert_eq!(census.missing, Vec::<String>::new());
    assert_eq!(census.functions.len(), names.len());
    census.functions
}

fn count(function: &Function, class: &str) -> u64 {
    function.counts.get(class).copied().unwrap_or(0)
}

#[test]
fn each_slow_path_holds_its_hint_and_no_other() {
    let clock = Clock::calibrated();
    let (mut names, mut hints, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
    for kind in LockKind::ALL {
        for hint in Hint::available() {
            names.push(format!("assay_lock_{}_slow_{}", kind.name(), hint.name()));
            hints.push(*hint);
            addresses.push(Waiting::new(kind, *hint, 1, clock).unwrap().address());
        }
    }
    let functions = functions(&names);
    let bias = addresses[0] - functions[0].symbol.address as usize;
    for ((function, hint), address) in functions.iter().zip(hints).zip(addresses) {
        let name = &function.symbol.raw;
        assert_eq!(
            address - bias,
            function.symbol.address as usize,
            "{name} is not what is called"
        );
        for class in HINT_CLASSES {
            if class == hint.name() {
                assert!(count(function, class) > 0, "{name} lacks its {class}: {function:?}");
            } else {
                assert_eq!(count(function, class), 0, "{name} holds a {class}: {function:?}");
            }
        }
    }
}

#[test]
fn only_the_hardware_checksums_hold_checksum_instructions() {
    let levels: Vec<Crc32c> =
        Crc32cLevel::ALL.into_iter().filter_map(|level| Crc32c::new(level).ok()).collect();
    let symbol = |crc32c: &Crc32c| format!("assay_crc32c_{}", crc32c.level().name());
    let names: Vec<String> = levels.iter().map(|one| symbol(one).replace('-', "_")).collect();
    for (crc32c, function) in levels.iter().zip(functions(&names)) {
        use Crc32cLevel::{Bytewise, Hardware, Slicing8};
        let is_hardware = !matches!(crc32c.level(), Bytewise | Slicing8);
        let has_products = is_hardware && crc32c.level() != Hardware;
        assert_eq!(count(&function, "crc32") > 0, is_hardware, "{function:?}");
        let products = count(&function, "pclmul") + count(&function, "pmull");
        assert_eq!(products > 0, has_products, "{function:?}");
    }
}
