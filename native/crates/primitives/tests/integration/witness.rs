//! The witness: the machine code of each slow path holds the hint of its name and no other, and the
//! function that a `Waiting` calls is the one with that name.

use std::hint::black_box;
use std::path::Path;

use assay_disasm::{Function, Image, census};
use assay_primitives::arch::current::hint::HINTS;
use assay_primitives::calls::{self, Call};
use assay_primitives::locks::Waiting;
use assay_primitives::simd::{Simd, SimdFunction, SimdWork};
use assay_primitives::timers::{self, Timer};
use assay_primitives::{
    Access, Atomic, AtomicOperation, Atomics, Clock, Crc32c, Crc32cLevel, Hint, LockKind, Order,
    orders,
};

const HINT_CLASSES: [&str; 7] = ["nop", "pause", "yield", "isb", "sb", "wfe", "wfet"];

/// How often each instruction stands in a waiting loop with this hint.
fn expected(hint: Hint, class: &str) -> u64 {
    match hint {
        Hint::None => 0,
        Hint::DoublePause => 2 * u64::from(class == "pause"),
        one => u64::from(class == one.name()),
    }
}

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
        for hint in HINTS {
            let suffix = hint.name().replace('-', "_");
            names.push(format!("assay_lock_{}_slow_{suffix}", kind.name()));
            hints.push(*hint);
            // Code for a hint that this very CPU lacks is there too, and never reached.
            let waiting = Waiting::new(kind, *hint, 1, clock).ok();
            assert_eq!(waiting.is_some(), Hint::available().contains(hint), "{hint:?}");
            addresses.push(waiting.map(|waiting| waiting.address().get()));
        }
    }
    let functions = functions(&names);
    let bias = addresses[0].unwrap() - functions[0].symbol.address as usize;
    for ((function, hint), address) in functions.iter().zip(hints).zip(addresses) {
        let name = &function.symbol.raw;
        let linked = function.symbol.address as usize;
        assert_eq!(address.map_or(linked, |a| a - bias), linked, "{name} is not what is called");
        for class in HINT_CLASSES {
            let wanted = expected(hint, class);
            assert_eq!(count(function, class), wanted, "{class} in {name}: {function:?}");
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

#[cfg(target_arch = "x86_64")]
#[test]
fn only_the_waiting_of_an_elided_lock_begins_transactions() {
    for hint in Hint::available() {
        let suffix = hint.name().replace('-', "_");
        let name = |elided: &str| format!("assay_lock_ttas_slow_{suffix}{elided}");
        // Using the addresses is what links the functions in.
        let elided = assay_primitives::arch::current::htm::elided_slow_path(*hint).unwrap();
        let clock = Clock::calibrated();
        let plain = Waiting::new(LockKind::Ttas, *hint, 1, clock).unwrap().address().get();
        let distance = std::hint::black_box(elided as usize).wrapping_sub(plain);
        let functions = functions(&[name("_elided"), name("")]);
        let [first, second] = [0, 1].map(|index| functions[index].symbol.address as usize);
        assert_eq!(first.wrapping_sub(second), distance, "not what is called: {functions:?}");
        assert!(count(&functions[0], "xbegin") > 0, "{functions:?}");
        assert_eq!(count(&functions[1], "xbegin"), 0, "{functions:?}");
        for class in HINT_CLASSES {
            // In more places than in the plain function.
            let has = expected(*hint, class) > 0;
            assert_eq!(count(&functions[0], class) > 0, has, "{functions:?}");
        }
    }
}

#[test]
fn each_flavour_of_atomics_holds_its_instructions_only() {
    let suffixes: &[&str] =
        if cfg!(target_arch = "aarch64") { &["std", "llsc", "lse"] } else { &["std"] };
    for operation in AtomicOperation::ALL {
        // Whatever nobody refers to is not in the test binary.
        black_box(Atomic::new(Atomics::Std, operation).unwrap());
        let operation = operation.name();
        let names = suffixes.iter().map(|suffix| format!("assay_atomic_{operation}_{suffix}"));
        for (suffix, function) in suffixes.iter().zip(functions(&names.collect::<Vec<_>>())) {
            let exclusives = count(&function, "llsc");
            let single: u64 = ["lse_cas", "lse_swp", "lse_ldop"]
                .map(|class| count(&function, class))
                .iter()
                .sum();
            assert_eq!(exclusives >= 2, *suffix == "llsc", "{function:?}");
            assert_eq!(exclusives % 2, 0, "a load for each store: {function:?}");
            assert_eq!(single > 0, *suffix == "lse", "{function:?}");
            if cfg!(target_arch = "x86_64") {
                let locked = count(&function, "lock_prefix") + count(&function, "xchg_mem");
                assert!(locked > 0, "{function:?}");
            }
        }
    }
}

/// On x86-64 only the sequentially consistent store differs; on aarch64 both stores release.
#[test]
fn a_stronger_order_is_seen_in_the_instructions() {
    let names = ["relaxed", "release", "seq_cst"].map(|order| format!("assay_order_store_{order}"));
    for access in Access::ALL {
        black_box(Order::ALL.map(|order| orders::function(access, order)));
    }
    let strong = |function: &Function| {
        ["xchg_mem", "mfence", "ldar_stlr"].iter().any(|class| count(function, class) > 0)
    };
    let found: Vec<bool> = functions(&names).iter().map(strong).collect();
    assert_eq!(found, [false, cfg!(target_arch = "aarch64"), true]);
    let names = ["relaxed", "acquire", "seq_cst"].map(|order| format!("assay_order_load_{order}"));
    let found: Vec<bool> = functions(&names).iter().map(strong).collect();
    assert_eq!(found, [false, cfg!(target_arch = "aarch64"), cfg!(target_arch = "aarch64")]);
}

#[test]
fn each_way_of_calling_holds_its_call_only() {
    black_box(Call::ALL.map(calls::function));
    let names = Call::ALL.map(|call| format!("assay_call_{}", call.name()));
    for (call, function) in Call::ALL.into_iter().zip(functions(&names)) {
        let found = ["call_direct", "call_indirect"].map(|class| count(&function, class) > 0);
        let expected = match call {
            Call::Inlined => [false, false],
            Call::Direct => [true, false],
            Call::Pointer | Call::Dyn => [false, true],
        };
        assert_eq!(found, expected, "{function:?}");
    }
}

#[test]
fn only_scalar_code_holds_no_vectors_and_each_level_its_own_width() {
    for work in SimdWork::ALL {
        for level in Simd::ALL {
            let Ok(found) = SimdFunction::new(level, work) else { continue };
            black_box(found);
            let name = format!("assay_simd_{}_{}", work.name(), level.name());
            let function = &functions(&[name])[0];
            let narrow = count(function, "vector_128") > 0;
            let wide = count(function, "vector_256") + count(function, "vector_512") > 0;
            assert_eq!(wide, level == Simd::Avx2, "{function:?}");
            assert_eq!(narrow || wide, level != Simd::Scalar, "{function:?}");
        }
    }
}

#[test]
fn each_counter_is_read_by_its_own_instruction() {
    black_box(Timer::ALL.map(|timer| timers::function(timer).ok()));
    let expected: &[(&str, &str)] = if cfg!(target_arch = "x86_64") {
        &[("rdtsc", "rdtsc"), ("rdtscp", "rdtscp")]
    } else {
        &[("cntvct", "cntvct"), ("isb_cntvct", "isb")]
    };
    for (suffix, class) in expected {
        let function = &functions(&[format!("assay_timer_{suffix}")])[0];
        assert!(count(function, class) > 0, "{function:?}");
        assert_eq!(count(function, "isb") > 0, *class == "isb", "{function:?}");
        assert_eq!(count(function, "rdtscp") > 0, *class == "rdtscp", "{function:?}");
    }
}
