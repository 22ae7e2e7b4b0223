//! The census of the binary itself against objdump, and of the functions that a run says it called.

use serde_json::{Value, json};

use crate::runs::run_enough;
use crate::support::{assayer, is_x86, run};

const HINTS: [&str; 7] = ["pause", "yield", "isb", "sb", "wfe", "wfet", "nop"];

fn slow_paths() -> Vec<String> {
    let hints: &[&str] = if is_x86() {
        &["none", "nop", "pause", "double_pause"]
    } else {
        &["none", "nop", "yield", "isb", "sb", "wfe", "wfet"]
    };
    let kinds = ["tas", "ttas", "backoff", "ticket", "mcs", "futex"];
    let names = kinds
        .iter()
        .flat_map(|kind| hints.iter().map(move |hint| format!("assay_lock_{kind}_slow_{hint}")));
    names.collect()
}

fn census(request: &Value) -> Value {
    let outcome = run("census", request);
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.messages);
    outcome.only("result").clone()
}

#[test]
fn each_slow_path_of_the_binary_holds_its_hint_and_no_other() {
    let names = slow_paths();
    let answer = census(&json!({"path": assayer(), "symbols": names}));
    assert_eq!(answer["missing"], json!([]));
    for function in answer["functions"].as_array().unwrap() {
        let name = function["symbol"].as_str().unwrap();
        for hint in HINTS {
            let count = function["counts"].get(hint).and_then(Value::as_u64).unwrap_or(0);
            assert_eq!(count > 0, name.ends_with(&format!("_{hint}")), "{function}");
        }
    }
}

/// The same counts by another disassembler, which is installed for the own architecture only.
mod against_objdump {
    use std::collections::BTreeMap;
    use std::process::Command;

    use serde_json::json;

    use super::{census, slow_paths};
    use crate::support::{assayer, is_x86};

    /// Mnemonics by function, as objdump prints them.
    fn objdump() -> Option<BTreeMap<String, Vec<String>>> {
        let output =
            Command::new("objdump").args(["-d", "--no-show-raw-insn", &assayer()]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut functions = BTreeMap::new();
        let mut current = String::new();
        for line in text.lines() {
            if let Some((_, rest)) = line.split_once(" <")
                && let Some(name) = rest.strip_suffix(">:")
            {
                name.clone_into(&mut current);
            } else if let Some((_, instruction)) = line.split_once(":\t") {
                let entry: &mut Vec<String> = functions.entry(current.clone()).or_default();
                entry.push(instruction.trim().to_owned());
            }
        }
        Some(functions)
    }

    fn count(instructions: &[String], is_it: impl Fn(&str) -> bool) -> u64 {
        instructions.iter().filter(|instruction| is_it(instruction)).count() as u64
    }

    /// A class, and how objdump writes its instructions.
    type Class = (&'static str, fn(&str) -> bool);

    /// Every class that objdump shows by its mnemonic alone, in every function of interest.
    #[test]
    fn counts_are_those_of_objdump() {
        if !is_x86() {
            return;
        }
        let Some(disassembly) = objdump() else { return };
        let mut names = slow_paths();
        names.extend(
            ["bytewise", "slicing8", "hardware", "hardware_3way", "pclmul", "vpclmul", "fusion"]
                .map(|level| format!("assay_crc32c_{level}")),
        );
        names.push("main".to_owned());
        let answer = census(&json!({"path": assayer(), "symbols": names}));
        let functions = answer["functions"].as_array().unwrap();
        assert_eq!(functions.len(), names.len());
        for function in functions {
            let raw = function["raw"].as_str().unwrap();
            let instructions = &disassembly[raw];
            let classes: [Class; 6] = [
                ("pause", |text| text == "pause"),
                ("lock_prefix", |text| text.starts_with("lock ")),
                ("xchg_mem", |text| text.starts_with("xchg") && text.contains('(')),
                ("crc32", |text| text.starts_with("crc32")),
                ("mfence", |text| text.starts_with("mfence")),
                ("pclmul", |text| {
                    text.split(' ').next().is_some_and(|name| name.contains("pclmul"))
                }),
            ];
            for (class, is_it) in classes {
                assert_eq!(
                    function["counts"][class],
                    count(instructions, is_it),
                    "{class} in {raw}"
                );
            }
        }
    }
}

#[test]
fn the_functions_that_ran_can_be_named_and_say_what_they_hold() {
    let hint = if is_x86() { "pause" } else { "yield" };
    for (data_cache, word) in [
        ("one-lock", "::locked_look_up"),
        ("partitioned", "::partition_look_up"),
        ("hyper-clock", "::hyper_clock_look_up"),
        ("optimistic", "::optimistic_look_up"),
    ] {
        let parts = json!({"hint": hint, "lock": "ttas", "data_cache": data_cache});
        let request = json!({"parts": parts, "workload": {"records": 1000}, "warmup_ms": 10});
        let outcome = run_enough("engine", &request, 1);
        let ran = outcome.only("result")["ran"].as_array().unwrap().clone();
        let addresses: Vec<&str> = ran.iter().filter_map(|one| one["address"].as_str()).collect();
        let answer = census(&json!({"path": assayer(), "addresses": addresses}));
        assert_eq!(answer["missing"], json!([]));
        let slow = &answer["functions"][0];
        assert_eq!(slow["symbol"], format!("assay_lock_ttas_slow_{hint}"));
        assert_eq!(slow["asked"], slow["address"]);
        let look_up = &answer["functions"][1];
        let symbol = look_up["symbol"].as_str().unwrap();
        assert!(symbol.ends_with(word), "{symbol}");
        assert_eq!(ran[1]["role"], "data_cache_lookup");
        assert!(ran[1]["calls"].as_u64().unwrap() > 0);
        if is_x86() {
            let counts = &look_up["counts"];
            let has = |class: &str| counts[class].as_u64() > Some(0);
            let is_locked = ["one-lock", "partitioned"].contains(&data_cache);
            assert_eq!(has("xchg_mem"), is_locked, "{data_cache}: {counts}");
            assert_eq!(has("lock_prefix"), data_cache == "hyper-clock", "{counts}");
        }
    }
}

#[test]
fn questions_without_an_answer_are_listed() {
    let answer = census(&json!({
        "path": assayer(), "symbols": ["no_such_function"], "addresses": ["0x1"],
    }));
    assert_eq!(answer["missing"], json!(["no_such_function", "0x1"]));
    assert_eq!(answer["functions"], json!([]));
}
