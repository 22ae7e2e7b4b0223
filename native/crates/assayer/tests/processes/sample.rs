//! The verb `sample`: what it counts, when, and how it ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Outcome, command, finish, run};

/// A sampler whose standard input stays open, and the words to it.
struct Open {
    child: Child,
    words: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Open {
    fn start(request: &Value) -> Self {
        let mut command = command();
        command.arg("sample").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut words = child.stdin.take().unwrap();
        words.write_all(request.to_string().as_bytes()).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, words, lines }
    }

    fn say(&mut self, word: &str) {
        self.words.write_all(word.as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    /// The data of the next message of a kind.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next();
            if is_it(&message) {
                return message["data"].clone();
            }
        }
    }

    fn until_mark(&mut self, mark: u64) -> Value {
        self.until(|message| message["data"]["mark"] == mark)
    }

    /// The result, and the exit code, once standard input has ended.
    fn end(self) -> (Value, Option<i32>) {
        let Self { mut child, words, mut lines } = self;
        drop(words);
        let last = lines.by_ref().last().unwrap().unwrap();
        (serde_json::from_str(&last).unwrap(), child.wait().unwrap().code())
    }
}

fn named(outcome: &Value, values: &Value, name: &str) -> Option<u64> {
    let counters = outcome["manifest"]["counters"].as_array().unwrap();
    let place = counters.iter().position(|counter| counter == name).unwrap();
    values["values"][place].as_u64()
}

fn error_of(outcome: &Outcome) -> (&str, &str, Option<i32>) {
    let error = outcome.only("error");
    (error["kind"].as_str().unwrap(), error["message"].as_str().unwrap(), outcome.code)
}

#[test]
fn what_happens_between_two_marks_is_counted_between_them() {
    // The process that is watched does nothing until it is told to.
    let mut watched = Command::new("sh")
        .args([
            "-c",
            "read go; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read x",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut sampler =
        Open::start(&json!({"pid": watched.id(), "hz": 1, "groups": ["process", "vm"]}));
    let ready = sampler.until(|message| message["type"] == "ready");
    sampler.say("\nmark\n");
    let first = sampler.until_mark(0);
    watched.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    BufReader::new(watched.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    sampler.say("mark\n");
    let second = sampler.until_mark(1);
    let (result, code) = sampler.end();
    drop(watched.stdin.take());
    watched.wait().unwrap();
    let worked = |mark| named(&ready, mark, "process.cpu_us").unwrap();
    assert!(worked(&first) < 20_000, "{first}");
    assert!(worked(&second) >= worked(&first) + 20_000, "{first} {second}");
    assert!(second["at_s"].as_f64() > first["at_s"].as_f64());
    assert!(named(&ready, &second, "vm.pgfault").unwrap() > 0);
    assert_eq!((&result["type"], &result["data"]["complete"]), (&json!("result"), &json!(true)));
    assert_eq!(code, Some(0));
}

#[test]
fn a_living_child_and_the_work_of_one_that_was_waited_for_belong_to_the_process() {
    let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let script = format!("read go; sh -c '{spin}'; sleep 60 & echo done; read x; kill $!");
    let mut watched = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut sampler = Open::start(&json!({"pid": watched.id(), "hz": 1, "groups": ["process"]}));
    let ready = sampler.until(|message| message["type"] == "ready");
    sampler.say("\nmark\n");
    let first = sampler.until_mark(0);
    watched.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    BufReader::new(watched.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    sampler.say("mark\n");
    let second = sampler.until_mark(1);
    sampler.end();
    drop(watched.stdin.take());
    watched.wait().unwrap();
    let value = |mark, name| named(&ready, mark, name).unwrap();
    assert_eq!(value(&first, "process.processes"), 1, "{first}");
    assert_eq!(value(&second, "process.processes"), 2, "{second}");
    assert!(value(&second, "process.cpu_us") >= value(&first, "process.cpu_us") + 20_000);
    assert!(value(&second, "process.rss_bytes") > 0, "{second}");
    assert!(value(&second, "process.voluntary_switches") > 0, "{second}");
}

#[test]
fn a_process_that_ends_has_no_values_any_more() {
    let mut watched =
        Command::new("sh").args(["-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut sampler = Open::start(&json!({"pid": watched.id(), "groups": ["process", "psi"]}));
    let ready = sampler.until(|message| message["type"] == "ready");
    drop(watched.stdin.take());
    watched.wait().unwrap();
    sampler.say("mark\n");
    let mark = sampler.until_mark(0);
    assert_eq!(named(&ready, &mark, "process.cpu_us"), None);
    assert_eq!(sampler.end().0["data"]["complete"], true);
}

#[test]
fn ticks_come_until_the_time_is_over_and_costly_counters_do_not_come_with_each() {
    let groups = ["softnet", "softirqs", "process"];
    let request = json!({"seconds": 0.35, "hz": 20, "pid": std::process::id(), "groups": groups});
    let outcome = run("sample", &request);
    assert_eq!(outcome.code, Some(0));
    let ready = outcome.only("ready");
    let samples: Vec<&Value> =
        outcome.messages.iter().filter(|message| message["type"] == "sample").collect();
    assert_eq!(outcome.only("result")["samples"], samples.len());
    assert!(samples.len() >= 2, "{}", samples.len());
    let values = |sample: &Value, name| named(ready, &sample["data"], name);
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    assert_eq!(values(first, "process.cpu_us"), None);
    assert!(values(last, "process.cpu_us").is_some());
    assert!(values(first, "host.softirq.timer.cpu0").is_some());
    let seconds = outcome.only("result")["seconds"].as_f64().unwrap();
    assert!(seconds >= 0.35, "{seconds}");
}

#[test]
fn a_terminated_sampler_says_that_it_is_incomplete() {
    let mut sampler = Open::start(&json!({"groups": ["vm"]}));
    sampler.until(|message| message["type"] == "ready");
    let killed = Command::new("kill").args(["-TERM", &sampler.child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    // Standard input is still open.
    let result = sampler.until(|message| message["type"] == "result");
    assert_eq!(result["complete"], false);
    assert_eq!(sampler.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_check_opens_everything_and_says_what_is_absent() {
    let event = json!({"name": "none", "type": 1, "config": 9999});
    let request = json!({"check_only": true, "groups": ["vm"], "pmu": [[event]]});
    let outcome = run("sample", &request);
    assert_eq!(outcome.types(), ["ready", "checked"]);
    let absent = &outcome.only("ready")["manifest"]["absent"];
    assert!(absent["perf.none"].as_str().unwrap().starts_with("perf_event_open: "), "{absent}");
}

#[test]
fn a_probe_that_cannot_be_set_is_absent_with_the_reason() {
    let probe = json!({"name": "gone", "path": "/no/such/file", "offset": 0});
    let outcome = run("sample", &json!({"check_only": true, "probes": [probe]}));
    assert_eq!(outcome.types(), ["ready", "checked"]);
    let manifest = &outcome.only("ready")["manifest"];
    assert_eq!(manifest["counters"], json!([]));
    assert!(!manifest["absent"]["probe.gone"].as_str().unwrap().is_empty(), "{manifest}");
}

/// What an emulator does not show: `scripts/test-aarch64` skips it.
mod unemulated {
    use super::*;
    use crate::support::assayer;

    /// `main` of the binary itself, where `object` says that it is: once in each process.
    #[test]
    fn passes_over_a_place_in_a_file_are_counted_in_all_that_run_it() {
        let found = run("object", &json!({"paths": [assayer()], "symbols": ["main"]}));
        let offset = &found.only("object")["symbols"][0]["offset"];
        // A file of its own: other tests run the binary meanwhile.
        let copy = format!("{}/probed-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        std::fs::copy(assayer(), &copy).unwrap();
        let probe = json!({"name": "main", "path": copy, "offset": offset});
        let mut sampler = Open::start(&json!({"hz": 1, "probes": [probe]}));
        let ready = sampler.until(|message| message["type"] == "ready");
        if let Some(why) = ready["manifest"]["absent"]["probe.main"].as_str() {
            // Not every kernel or user may: then that is said.
            assert!(why.contains("probe"), "{why}");
            return;
        }
        sampler.say("mark\n");
        let first = sampler.until_mark(0);
        for _ in 0..3 {
            assert!(Command::new(&copy).arg("--version").output().unwrap().status.success());
        }
        sampler.say("mark\n");
        let second = sampler.until_mark(1);
        assert_eq!(sampler.end().1, Some(0));
        std::fs::remove_file(&copy).unwrap();
        let counted = |mark| named(&ready, mark, "probe.main").unwrap();
        assert_eq!((counted(&first), counted(&second)), (0, 3));
    }
}

#[test]
fn wrong_requests_say_what_is_wrong() {
    for (request, told) in [
        (json!({}), "nothing to count"),
        (json!({"groups": ["vm"], "hz": 0}), "hz is 0"),
        (json!({"groups": ["vm"], "seconds": -1.0}), "seconds is -1"),
        (json!({"groups": ["process"]}), "process needs a pid"),
        (json!({"groups": ["colour"]}), "colour"),
        (
            json!({"pmu": [[{"name": "a", "type": 1, "config": 1}],
                           [{"name": "a", "type": 1, "config": 2}]]}),
            "two events are called \"a\"",
        ),
        (
            json!({"probes": [{"name": "a", "path": "/x", "offset": 1},
                              {"name": "a", "path": "/x", "offset": 2}]}),
            "probes: two are called \"a\"",
        ),
    ] {
        let outcome = run("sample", &request);
        let (kind, message, code) = error_of(&outcome);
        assert_eq!((kind, code), ("usage", Some(2)));
        assert!(message.contains(told), "{message}");
    }
    let gone = run("sample", &json!({"groups": ["process"], "pid": 4_000_000_000_u32}));
    assert_eq!(error_of(&gone), ("missing", "there is no process 4000000000", Some(3)));
}

#[test]
fn a_word_that_is_not_known_ends_the_run() {
    let mut sampler = Open::start(&json!({"groups": ["vm"]}));
    sampler.say("\nstop\n");
    let Open { child, words, mut lines } = sampler;
    let last = lines.by_ref().last().unwrap().unwrap();
    let error: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(error["data"]["message"], "\"stop\" is not `mark`");
    drop(words);
    assert_eq!(finish(child).code, Some(2));
}
