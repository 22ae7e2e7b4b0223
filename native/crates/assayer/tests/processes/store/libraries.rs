//! Whole runs on Debian's libraries.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::libraries::{Folder, LIBRARIES, request};
use crate::support::{Outcome, finish, run, start};

fn prepared(store: &str, folder: &Folder, more: Value) -> Outcome {
    let outcome = run("store", &request(store, folder, "prepare", more));
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    assert_eq!(outcome.only("result")["rows"], 2000);
    assert_eq!(outcome.only("result")["faults"], json!([]));
    outcome
}

/// The message of an action that is refused, and its exit code.
fn refused(store: &str, folder: &Folder, action: &str, more: Value) -> (String, i32) {
    let outcome = run("store", &request(store, folder, action, more));
    let message = outcome.only("error")["message"].as_str().unwrap().to_owned();
    (message, outcome.code.unwrap())
}

fn mix(letter: &str) -> Value {
    json!({"workload": {"mix": letter, "records": 2000, "operations": 100_000}})
}

#[test]
fn every_mix_runs_on_every_store_and_the_data_are_whole_afterwards() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("mixes-{store}"));
        prepared(store, &folder, json!({}));
        // Those that insert come last, each on data of its own.
        for (letter, kinds) in [
            ("c", &["read"][..]),
            ("b", &["read", "update"]),
            ("f", &["read", "rmw"]),
            ("d", &["insert", "read"]),
            ("e", &["insert", "scan"]),
        ] {
            let outcome = run("store", &request(store, &folder, "run", mix(letter)));
            assert_eq!(outcome.code, Some(0), "{store} {letter}: {}", outcome.text);
            let result = outcome.only("result");
            assert_eq!(result["state"]["checksum_ok"], true, "{store} {letter}: {result}");
            let found: Vec<&String> = result["by_kind"].as_object().unwrap().keys().collect();
            assert_eq!(found, kinds, "{store} {letter}");
            assert_eq!(result["server"]["processes"], 1);
            if letter == "d" {
                let records = result["state"]["records"].as_u64().unwrap();
                assert!(records >= 2000, "{records}");
                std::fs::remove_dir_all(folder.path().join(store)).unwrap();
                prepared(store, &folder, json!({}));
            }
        }
    }
}

#[test]
fn settings_are_in_force_and_the_manifest_says_so() {
    let folder = Folder::new("settings");
    for (store, settings, expected) in [
        (
            "rocksdb",
            json!({"write_buffer_size": "8M", "checksum": "kCRC32c", "row_cache_bytes": "1M",
                   "memtable": "hash-linklist", "cache_bytes": 8_388_608}),
            json!({"write_buffer_size": "8388608", "checksum": "kCRC32c",
                   "row_cache_bytes": "1048576", "memtable": "hash-linklist",
                   "cache_bytes": "8388608", "allow_concurrent_memtable_write": "false",
                   "prefix_extractor": "rocksdb.CappedPrefix.12"}),
        ),
        (
            "sqlite",
            json!({"journal_mode": "WAL", "synchronous": 1, "cache_size": -4000}),
            json!({"journal_mode": "wal", "synchronous": "normal", "cache_size": "-4000",
                   "busy_timeout": "10000"}),
        ),
    ] {
        let more = json!({"settings": settings});
        prepared(store, &folder, more.clone());
        let outcome = run("store", &request(store, &folder, "run", more));
        let manifest = &outcome.only("ready")["manifest"];
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&manifest["settings"][name], value, "{store} {name}");
        }
        let log = manifest["log"].as_object().unwrap();
        let fact = if store == "rocksdb" { "Fast CRC32 supported" } else { "source_id" };
        assert!(log.contains_key(fact), "{log:?}");
    }
}

#[test]
fn settings_that_come_out_otherwise_are_refused_with_both_values() {
    let folder = Folder::new("refused");
    for (store, settings, mentions) in [
        ("rocksdb", json!({"max_open_files": 3}), ["max_open_files", "3 was given, and 20"]),
        ("rocksdb", json!({"max_mem_compaction_level": 3}), ["max_mem_compaction_level", "report"]),
        ("rocksdb", json!({"colour": "red"}), ["colour", "no such option"]),
        ("rocksdb", json!({"block_size": "large"}), ["block_size", "parsing"]),
        ("sqlite", json!({"page_size": 1000}), ["page_size", "1000 was given, and 4096"]),
        ("sqlite", json!({"colour": "red"}), ["colour", "no PRAGMA"]),
    ] {
        let more = json!({"settings": settings, "check_only": true});
        let (message, code) = refused(store, &folder, "run", more);
        assert_eq!(code, 2, "{message}");
        assert!(mentions.iter().all(|mention| message.contains(mention)), "{message}");
    }
    // What this version lacks is missing by the function's name.
    let more = json!({"settings": {"cache": "hyper-clock"}, "check_only": true});
    let (message, code) = refused("rocksdb", &folder, "run", more);
    assert_eq!(code, 3);
    assert!(message.contains("rocksdb_cache_create_hyper_clock"), "{message}");
    // Nothing was made where the data would be.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_folder_must_be_what_the_action_needs() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("folder-{store}"));
        let (message, code) = refused(store, &folder, "run", json!({}));
        assert_eq!(code, 2, "{message}");
        prepared(store, &folder, json!({}));
        let (message, code) = refused(store, &folder, "prepare", json!({}));
        assert!(code == 2 && message.contains("not empty"), "{message}");
        for workload in [json!({"records": 1000}), json!({"records": 3000}), json!({"fields": 3})] {
            let more = json!({"workload": workload});
            let (message, code) = refused(store, &folder, "run", more);
            assert!(code == 1 && message.contains("record"), "{store}: {message}");
        }
    }
}

/// A run of a minute, once it has counted something; its output goes on. One thread, which waits for
/// no lock: an interval ends when every thread has got through.
fn running(store: &str, folder: &Folder) -> (std::process::Child, String) {
    let more = json!({"window_ms": 60_000, "interval_ms": 50, "threads": 1});
    let mut child = start("store", &request(store, folder, "run", more));
    let mut told = BufReader::new(child.stdout.as_mut().unwrap());
    let mut text = String::new();
    while !text.contains("\"interval\"") {
        assert!(told.read_line(&mut text).unwrap() > 0, "it ended: {text}");
    }
    (child, text)
}

fn signal(child: &std::process::Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn data_in_use_are_refused_and_a_run_that_is_told_to_stop_ends_in_order() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("stop-{store}"));
        prepared(store, &folder, json!({}));
        let (mut child, _) = running(store, &folder);
        let (message, code) = refused(store, &folder, "run", json!({}));
        assert!(code == 3 && message.contains("in use"), "{message}");
        signal(&child, "-TERM");
        let mut rest = String::new();
        child.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
        let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
        assert_eq!((&last["type"], &last["data"]["complete"]), (&json!("result"), &json!(false)));
        assert_eq!(last["data"]["state"], json!({"records": 2000, "checksum_ok": true}));
        assert_eq!(child.wait().unwrap().code(), Some(0));
        // The folder is free again.
        assert_eq!(run("store", &request(store, &folder, "run", json!({}))).code, Some(0));
    }
}

#[test]
fn data_survive_a_kill() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("kill-{store}"));
        prepared(store, &folder, json!({}));
        let (mut child, _) = running(store, &folder);
        signal(&child, "-KILL");
        child.wait().unwrap();
        let outcome = run("store", &request(store, &folder, "run", json!({})));
        let state = &outcome.only("result")["state"];
        assert_eq!(state, &json!({"records": 2000, "checksum_ok": true}), "{store}");
    }
}

#[test]
fn preparing_that_is_told_to_stop_says_that_the_data_are_incomplete() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("prepare-{store}"));
        let more = json!({"workload": {"records": 20_000_000}});
        let mut child = start("store", &request(store, &folder, "prepare", more));
        let mut line = String::new();
        // After the first second it says how far it is.
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("\"loading\""), "{line}");
        signal(&child, "-TERM");
        let outcome = finish(child);
        assert_eq!(outcome.code, Some(1), "{}", outcome.text);
        let message = outcome.only("error")["message"].as_str().unwrap().to_owned();
        assert!(message.contains("stopped"), "{message}");
    }
}

#[test]
fn damaged_data_are_told() {
    for (store, _) in LIBRARIES {
        let folder = Folder::new(&format!("damage-{store}"));
        prepared(store, &folder, json!({}));
        let data = folder.path().join(store);
        let mut entries = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
        let is_data = |path: &std::path::PathBuf| {
            path.extension().is_some_and(|kind| kind == "sst" || kind == "db")
        };
        let file = entries.find(is_data).unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        let (from, to) = (bytes.len() / 4, bytes.len() / 2);
        bytes[from..to].iter_mut().for_each(|byte| *byte ^= 0x55);
        std::fs::write(&file, bytes).unwrap();
        let outcome = run("store", &request(store, &folder, "run", mix("c")));
        if outcome.code == Some(0) {
            // No read met the damage, in a window in which little was read.
            let state = &outcome.only("result")["state"];
            assert_eq!(state["checksum_ok"], false, "{store}: {state}");
            continue;
        }
        let message = outcome.only("error")["message"].as_str().unwrap().to_owned();
        let words = ["damaged", "is wrong"];
        assert!(words.iter().any(|word| message.contains(word)), "{store}: {message}");
    }
}

#[test]
fn waits_for_locks_are_counted_where_writers_keep_readers_out() {
    let folder = Folder::new("busy");
    prepared("sqlite", &folder, json!({}));
    // A transaction that lasts until the device has it gives the other thread time to meet it.
    let more = json!({"settings": {"synchronous": "full", "journal_mode": "delete"},
                      "threads": 4, "window_ms": 500});
    let runs = (0..20).map(|_| run("store", &request("sqlite", &folder, "run", more.clone())));
    let waits = |outcome: &Outcome| outcome.only("result")["counters"]["busy.waits"].clone();
    assert!(runs.map(|outcome| waits(&outcome)).any(|waits| waits.as_u64() > Some(0)));
}

#[test]
fn counters_are_of_the_window_and_name_what_happened() {
    let folder = Folder::new("counters");
    prepared("rocksdb", &folder, json!({}));
    let more = json!({"settings": {"cache_bytes": 0}, "threads": 1,
                      "workload": {"mix": "c", "records": 2000}});
    // On a busy machine so short a window may pass without an operation.
    let mut runs =
        (0..100).map(|_| run("store", &request("rocksdb", &folder, "run", more.clone())));
    let outcome = runs.find(|outcome| outcome.only("result")["executed"] != 0).unwrap();
    let result = outcome.only("result");
    let counter =
        |name: &str| result["counters"][name].as_u64().unwrap_or_else(|| panic!("{name}"));
    let executed = result["executed"].as_u64().unwrap();
    for name in ["number.keys.read", "db.get.micros.count", "block.checksum.compute.count"] {
        assert_eq!(counter(name), executed, "{name}");
    }
    assert_eq!(counter("block.cache.hit"), 0);
    assert!(result["server"]["cpu_s"].as_f64() > Some(0.0));
    let off = json!({"settings": {"statistics": "off"}});
    let outcome = run("store", &request("rocksdb", &folder, "run", off));
    assert_eq!(outcome.only("result")["counters"], json!({}));
}
