//! The witness: what a plan says it runs is what it runs.

use std::path::Path;

use assay_disasm::{Image, census};
use assay_plans::{Code, PlanKind, Rewrite, compile, hits_like, ninety_sums};

fn codes() -> Vec<(PlanKind, Code)> {
    let table = hits_like(1, 10);
    let code = |kind| compile(kind, Rewrite::Off, &ninety_sums(), table.schema()).unwrap().code();
    PlanKind::ALL.into_iter().map(|kind| (kind, code(kind))).collect()
}

#[test]
fn interpreters_run_the_functions_of_their_symbols() {
    let known: Vec<Code> =
        codes().into_iter().map(|(_, code)| code).filter(|code| code.bytes.is_none()).collect();
    assert_eq!(known.len(), 3);
    let names: Vec<String> = known.iter().map(|code| code.symbol.to_owned()).collect();
    let image = Image::open(Path::new("/proc/self/exe")).unwrap();
    let census = census::take(&image.parse().unwrap(), &names, &[]);
    assert_eq!(census.missing, Vec::<String>::new());
    let bias = known[0].address.get() - census.functions[0].symbol.address as usize;
    for (code, function) in known.iter().zip(&census.functions) {
        assert_eq!(code.address.get() - bias, function.symbol.address as usize, "{}", code.symbol);
    }
}

#[test]
fn compiled_plans_show_machine_code_at_their_address() {
    let table = hits_like(1, 10);
    for kind in [PlanKind::CraneliftScalar, PlanKind::CraneliftSimd] {
        let plan = compile(kind, Rewrite::Off, &ninety_sums(), table.schema()).unwrap();
        let code = plan.machine_code().unwrap();
        assert_eq!(code.as_ptr() as usize, plan.code().address.get());
        assert_eq!(Some(code.len()), plan.code().bytes);
        assert!(code.len() > 90, "{} bytes for ninety sums", code.len());
    }
}

#[test]
fn memory_of_compiled_plans_is_executable_and_not_writable() {
    let table = hits_like(1, 10);
    for kind in [PlanKind::CraneliftScalar, PlanKind::CraneliftSimd] {
        let plan = compile(kind, Rewrite::Off, &ninety_sums(), table.schema()).unwrap();
        let address = plan.code().address.get();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mapping = maps.lines().find(|line| {
            let (range, _) = line.split_once(' ').unwrap();
            let (begin, end) = range.split_once('-').unwrap();
            let bound = |text| usize::from_str_radix(text, 16).unwrap();
            (bound(begin)..bound(end)).contains(&address)
        });
        assert!(mapping.unwrap().contains(" r-xp "), "{mapping:?}");
    }
}

#[test]
fn the_rewrite_leaves_two_aggregates_of_ninety() {
    let table = hits_like(1, 10);
    let bytes = |rewrite| {
        let plan = compile(PlanKind::CraneliftSimd, rewrite, &ninety_sums(), table.schema());
        plan.unwrap().code().bytes.unwrap()
    };
    assert!(bytes(Rewrite::Off) > 10 * bytes(Rewrite::On));
}

#[test]
fn names_are_those_of_requests() {
    let names = PlanKind::ALL.map(PlanKind::name);
    assert_eq!(names, ["row", "bytecode", "vectorised", "cranelift-scalar", "cranelift-simd"]);
    assert_eq!(Rewrite::ALL.map(Rewrite::name), ["off", "on"]);
}
