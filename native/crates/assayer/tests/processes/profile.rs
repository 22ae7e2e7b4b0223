//! The verb `profile`: what it samples, when, and how it ends.

use serde_json::{Value, json};

use crate::support::run;

fn error_of(request: &Value) -> (String, String, Option<i32>) {
    let outcome = run("profile", request);
    let error = outcome.only("error");
    let text = |name| error[name].as_str().unwrap().to_owned();
    (text("kind"), text("message"), outcome.code)
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    let here = std::process::id();
    for (request, told) in [
        (json!({}), "pid"),
        (json!({"pid": here, "hz": 0}), "hz is 0"),
        (json!({"pid": here, "colour": 1}), "colour"),
    ] {
        let (kind, message, code) = error_of(&request);
        assert_eq!((kind.as_str(), code), ("usage", Some(2)), "{message}");
        assert!(message.contains(told), "{message}");
    }
    let (kind, message, code) = error_of(&json!({"pid": 4_000_000_000_u32}));
    assert_eq!((kind.as_str(), code), ("missing", Some(3)));
    assert!(message.contains("there is no process 4000000000"), "{message}");
}

#[test]
fn a_check_says_whether_a_profile_is_possible_and_if_not_which_right_is_missing() {
    let outcome = run("profile", &json!({"pid": std::process::id(), "check_only": true}));
    assert_eq!(outcome.types(), ["ready", "checked"]);
    let manifest = &outcome.only("ready")["manifest"];
    let can = manifest["event"].is_string();
    assert_eq!(can, manifest["absent"]["profile"].is_null(), "{manifest}");
    assert_eq!(manifest["threads"].as_u64().unwrap() > 0, can);
}

/// What an emulator does not show: `scripts/test-aarch64` skips it.
mod unemulated {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::support::{command, finish, start};

    /// Whether this user may profile; tests that need it end here, having seen what is said.
    fn is_allowed() -> bool {
        let outcome = run("profile", &json!({"pid": std::process::id(), "check_only": true}));
        let why = &outcome.only("ready")["manifest"]["absent"]["profile"];
        assert!(why.is_null() || why.as_str().unwrap().contains("perf_event_paranoid"), "{why}");
        why.is_null()
    }

    /// An engine that runs until it is told to end: a program with symbols of its own.
    fn engine() -> Child {
        let mut engine = start(
            "engine",
            &json!({"workload": {"kind": "ycsb", "records": 2000}, "threads": 1,
                    "warmup_ms": 0, "window_ms": 60_000}),
        );
        // Once it says that it measures.
        let mut lines = BufReader::new(engine.stdout.as_mut().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("\"measure\"") {}
        engine
    }

    fn profile(pid: u32, words: &[&str]) -> crate::support::Outcome {
        let mut command = command();
        command.arg("profile").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let request = json!({"pid": pid, "hz": 997}).to_string();
        stdin.write_all(request.as_bytes()).unwrap();
        for word in words {
            std::thread::sleep(std::time::Duration::from_millis(400));
            stdin.write_all(format!("\n{word}\n").as_bytes()).unwrap();
        }
        drop(stdin);
        finish(child)
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn functions_of_a_running_program_are_named_between_two_marks() {
        if !is_allowed() {
            return;
        }
        let engine = engine();
        let outcome = profile(engine.id(), &["mark", "mark"]);
        end(engine);
        assert_eq!(outcome.types(), ["ready", "result"]);
        let result = outcome.only("result");
        let samples = result["samples"].as_u64().unwrap();
        let stacks = result["stacks"].as_array().unwrap();
        let counts: u64 = stacks.iter().map(|stack| stack["count"].as_u64().unwrap()).sum();
        assert_eq!((counts, &result["complete"]), (samples, &json!(true)));
        assert!(samples > 0, "{result}");
        let of_assay = result["functions"].as_array().unwrap().iter().any(|function| {
            function["name"].as_str().unwrap().contains("assay_") && function["module"] == "assayer"
        });
        assert!(of_assay, "{result}");
    }

    #[test]
    fn a_process_that_begins_afterwards_is_sampled_with_the_one_that_started_it() {
        if !is_allowed() {
            return;
        }
        let script = "read go; sh -c 'while :; do :; done' & read stop; kill $!";
        let mut parent =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let mut command = command();
        command.arg("profile").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut words = child.stdin.take().unwrap();
        words.write_all(json!({"pid": parent.id()}).to_string().as_bytes()).unwrap();
        words.write_all(b"\n").unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("ready"));
        words.write_all(b"mark\n").unwrap();
        parent.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(600));
        words.write_all(b"mark\n").unwrap();
        drop(words);
        let result: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        drop(parent.stdin.take());
        parent.wait().unwrap();
        child.wait().unwrap();
        // The parent itself only waits.
        assert!(result["data"]["samples"].as_u64().unwrap() > 0, "{result}");
    }

    #[test]
    fn without_two_marks_nothing_counts() {
        if !is_allowed() {
            return;
        }
        let result = profile(std::process::id(), &["mark"]);
        let result = result.only("result");
        assert_eq!((&result["samples"], &result["seconds"]), (&json!(0), &json!(0.0)));
        let result = profile(std::process::id(), &[]);
        assert_eq!(result.only("result")["stacks"], json!([]));
    }

    #[test]
    fn a_terminated_profile_says_that_it_is_incomplete() {
        if !is_allowed() {
            return;
        }
        let mut child =
            command().arg("profile").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let request = json!({"pid": std::process::id()}).to_string();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("ready"));
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let last = lines.next().unwrap().unwrap();
        let result: Value = serde_json::from_str(&last).unwrap();
        assert_eq!(result["data"]["complete"], false);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn a_word_that_is_not_known_ends_the_run() {
        if !is_allowed() {
            return;
        }
        let outcome = profile(std::process::id(), &["stop"]);
        assert_eq!(outcome.only("error")["message"], "\"stop\" is not `mark`");
        assert_eq!(outcome.code, Some(2));
    }
}
