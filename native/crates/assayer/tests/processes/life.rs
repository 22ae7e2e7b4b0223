//! The end of a run: told to stop, left by its parent, left by its reader.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{assayer, command, finish, runner, start};

/// After which a test fails that would otherwise wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

fn terminate(pid: u32) {
    let killed = Command::new("kill").args(["-TERM", &pid.to_string()]).status();
    assert!(killed.expect("kill is installed").success());
}

/// Whether the process still runs (a zombie does not).
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_terminated_run_reports_what_it_has_and_says_that_it_is_incomplete() {
    let request = json!({"window_ms": 600_000, "warmup_ms": 10, "interval_ms": 50,
                         "workload": {"records": 1000}});
    let mut child = start("engine", &request);
    let pid = child.id();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    // Stopped once it has said that something was counted.
    let seen = loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the run reaches its window");
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        if message["data"]["operations"].as_u64() > Some(0) {
            break message["data"].clone();
        }
    };
    terminate(pid);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    let result: serde_json::Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["data"]["complete"], false);
    assert_eq!(result["data"]["state"]["checksum_ok"], true);
    assert!(result["data"]["operations"].as_u64() >= seen["operations"].as_u64());
    let window_s = result["data"]["window_s"].as_f64().unwrap();
    let until_s = (seen["start_ms"].as_f64().unwrap() + seen["length_ms"].as_f64().unwrap()) / 1e3;
    assert!((0.99 * until_s..599.0).contains(&window_s), "{window_s} s, {until_s} s were told");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_run_terminated_before_its_window_has_no_operations() {
    let request = json!({"window_ms": 100, "warmup_ms": 60_000, "workload": {"records": 1000}});
    let mut child = start("engine", &request);
    let mut line = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    terminate(child.id());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let result: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(result["data"]["complete"], false);
    assert_eq!(result["data"]["operations"], 0);
    assert_eq!(result["data"]["window_s"], 0.0);
    assert!(!text.contains("\"interval\""));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_run_does_not_outlive_its_parent() {
    let (runner, assayer) = (runner(), assayer());
    let told = std::env::temp_dir().join(format!("assayer-life-{}", std::process::id()));
    // The shell is the parent: it starts the run, says its process id, and is killed.
    let script = format!(
        "echo '{{\"window_ms\": 60000, \"workload\": {{\"records\": 1000}}}}' \
         | {runner} {assayer} engine \
         > '{}' & echo $!; wait",
        told.display()
    );
    let mut shell =
        Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    let is_assayer = || {
        let name = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        name.contains("assayer\0engine")
    };
    wait_until("the run's start", is_assayer);
    let has_begun = || std::fs::read_to_string(&told).is_ok_and(|text| text.contains("phase"));
    wait_until("the run's first word", has_begun);
    shell.kill().unwrap();
    shell.wait().unwrap();
    wait_until("the run's end", || !is_running(pid));
    std::fs::remove_file(&told).unwrap();
}

#[test]
fn a_reader_that_leaves_is_not_an_error() {
    let mut child = start("facts", &json!({}));
    drop(child.stdout.take());
    assert_eq!(finish(child).code, Some(0));
}

#[test]
fn the_request_is_read_without_waiting_for_the_end_of_the_stream() {
    let mut child =
        command().arg("facts").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"{}").unwrap();
    // The stream is still open while the answer is read.
    let outcome = finish(child);
    drop(stdin);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.only("result")["cpus"].as_u64().unwrap() > 0);
}
