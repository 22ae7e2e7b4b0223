//! Commands that are run to their end: what is told of them, and what becomes of what they leave.
#![allow(dead_code)] // Fields are declared to be checked, not read.

use serde::Deserialize;

use super::types::{CpuShare, ServerUsage};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobExecution {
    wall_ns: u64,
    user_us: u64,
    system_us: u64,
    max_rss_bytes: u64,
    code: Option<i32>,
    signal: Option<i32>,
    output: Option<String>,
    output_bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobResult {
    complete: bool,
    window_s: f64,
    executions: Vec<JobExecution>,
    empty: Vec<JobExecution>,
    histogram: String,
    cpus: Vec<CpuShare>,
    server: Option<ServerUsage>,
}

/// What an emulator does not show: `scripts/test-aarch64` skips it.
mod unemulated {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use crate::protocol::holds;
    use crate::support::{Outcome, finish, run, start};

    fn request(words: &[&str]) -> Value {
        let program = if words[0] == "sh" { "/bin/sh" } else { "/bin/true" };
        json!({"program": program, "words": words, "empty": "/bin/true", "empties": 2,
               "window_ms": 1})
    }

    fn with(words: &[&str], further: Value) -> Value {
        let mut all = request(words);
        all.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        all
    }

    fn complaint(outcome: &Outcome) -> String {
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        outcome.only("error")["message"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_command_is_told_as_the_specification_says() {
        holds("job", run("job", &with(&["sh", "-c", "echo 1"], json!({"keep_output": true}))));
    }

    #[test]
    fn a_run_has_times_memory_and_what_was_printed() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done $i";
        let outcome = run("job", &with(&["sh", "-c", script], json!({"keep_output": true})));
        let result = outcome.only("result");
        let one = &result["executions"][0];
        assert_eq!(one["output"], "done 20000\n");
        assert!(one["wall_ns"].as_u64().unwrap() > 1_000_000, "{one}");
        let cpu = one["user_us"].as_u64().unwrap() + one["system_us"].as_u64().unwrap();
        assert!(cpu > 0 && one["max_rss_bytes"].as_u64().unwrap() > 100_000, "{one}");
        assert_eq!(result["empty"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_window_holds_as_many_executions_as_fit() {
        let outcome = run("job", &with(&["true"], json!({"window_ms": 300})));
        assert!(outcome.only("result")["executions"].as_array().unwrap().len() > 5);
    }

    #[test]
    fn a_command_that_fails_says_its_code_and_its_last_words() {
        let said = complaint(&run("job", &request(&["sh", "-c", "echo no luck >&2; exit 3"])));
        assert_eq!(said, "the command ended with code 3: no luck");
        let any = json!({"any_code": true});
        let borne = run("job", &with(&["sh", "-c", "exit 3"], any));
        assert_eq!(borne.only("result")["executions"][0]["code"], 3);
        let said = complaint(&run("job", &request(&["sh", "-c", "kill -9 $$"])));
        assert!(said.contains("signal 9"), "{said}");
    }

    #[test]
    fn what_is_left_running_is_killed_and_named_wherever_it_hides() {
        for script in ["sleep 1000 & exit 0", "setsid sleep 1000 & exit 0"] {
            let begun = Instant::now();
            let said = complaint(&run("job", &request(&["sh", "-c", script])));
            assert!(said.contains("left sleep running"), "{said}");
            assert!(begun.elapsed() < Duration::from_secs(100));
        }
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed_with_what_it_started() {
        let hung = with(&["sh", "-c", "sleep 1000 | sleep 1000"], json!({"patience_ms": 100}));
        let said = complaint(&run("job", &hung));
        assert!(said.contains("still running after 0.1 s"), "{said}");
    }

    #[test]
    fn told_to_stop_it_kills_the_command_cleans_up_and_says_that_it_is_incomplete() {
        let mark = format!("{}/cleaned-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let cleanup = json!({"cleanup": ["sh", "-c", format!("echo > {mark}")]});
        let child = start("job", &with(&["sh", "-c", "sleep 1000"], cleanup));
        std::thread::sleep(Duration::from_millis(300));
        std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
        let outcome = finish(child);
        assert_eq!(outcome.code, Some(0));
        assert_eq!(outcome.only("result")["complete"], false);
        std::fs::remove_file(mark).unwrap();
    }

    #[test]
    fn much_output_is_read_and_its_end_is_kept() {
        let script = "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last";
        let outcome = run("job", &with(&["sh", "-c", script], json!({"keep_output": true})));
        let one = &outcome.only("result")["executions"][0];
        assert_eq!(one["output_bytes"], 100_000_006);
        let kept = one["output"].as_str().unwrap();
        assert!(kept.len() <= 1 << 20 && kept.ends_with("x\nlast\n"), "{}", kept.len());
    }

    #[test]
    fn a_generator_is_told_from_its_server_and_has_a_busiest_thread() {
        let mut server = std::process::Command::new("sh");
        server.args(["-c", "while :; do :; done"]);
        let mut server = server.spawn().unwrap();
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let outcome = run("job", &with(&["sh", "-c", script], json!({"server_pid": server.id()})));
        server.kill().unwrap();
        server.wait().unwrap();
        let (health, result) = (outcome.only("health"), outcome.only("result"));
        assert_eq!(health["loader"], "client");
        let busiest = health["busiest_thread"].as_f64().unwrap();
        assert!(busiest > 0.1 && busiest <= 1.0, "{health}");
        assert!(result["server"]["cpu_s"].as_f64().unwrap() > 0.0, "{result}");
        let outcome = run("job", &with(&["true"], json!({"server_pid": 0})));
        assert!(outcome.only("error")["message"].as_str().unwrap().starts_with("server_pid"));
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        let mut absent = request(&["true"]);
        absent["program"] = json!("/no/such/program");
        let outcome = run("job", &absent);
        assert_eq!(outcome.code, Some(3));
        assert_eq!(outcome.only("error")["kind"], "missing");
    }
}
