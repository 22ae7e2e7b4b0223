//! What a result says ran is what was entered: a second run of the same request is traced, with a
//! breakpoint at every function that the first one reported.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::runs::run_enough;
use crate::support::{assayer, is_x86};

const BREAKPOINT: u64 = 0xCC;

/// What was called less often, as what waits may be, need not be called when the same is run again.
const OFTEN: u64 = 200;

/// Runs that are traced at most, until all functions were entered: threads that wait for each other
/// in one run may not meet in the next.
const TRIES: usize = 5;

/// One traced process and its breakpoints, by address, with the words that they replaced. All calls
/// come from the thread that started it.
struct Traced {
    pid: libc::pid_t,
    words: BTreeMap<u64, u64>,
}

fn ptrace(request: libc::c_uint, pid: libc::pid_t, address: u64, data: u64) -> libc::c_long {
    // SAFETY: requests that write to this process' memory are given a pointer to a local.
    unsafe { libc::ptrace(request, pid, address, data) }
}

fn traced(verb: &str) -> Child {
    let mut command = Command::new(assayer());
    command.arg(verb).stdin(Stdio::piped()).stdout(Stdio::null());
    // SAFETY: the call is one of those that a child may make before it executes another program.
    unsafe {
        command.pre_exec(|| match ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command.spawn().unwrap()
}

/// Waits for a thread that this thread traces; which, and its status.
fn next() -> (libc::pid_t, libc::c_int) {
    let mut status = 0;
    // SAFETY: the call only writes the status.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    (pid, status)
}

impl Traced {
    /// Sets the breakpoints in a process that has just executed the program.
    fn new(pid: libc::pid_t, linked: &[u64]) -> Self {
        assert_eq!(next().0, pid, "it stops as it begins");
        let options = libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
        ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options as u64);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let path = std::fs::canonicalize(assayer()).unwrap();
        let first = maps.lines().find(|line| line.ends_with(path.to_str().unwrap())).unwrap();
        let base = u64::from_str_radix(first.split('-').next().unwrap(), 16).unwrap();
        let words = linked.iter().map(|address| {
            let at = base + address;
            let word = ptrace(libc::PTRACE_PEEKTEXT, pid, at, 0) as u64;
            ptrace(libc::PTRACE_POKETEXT, pid, at, word & !0xFF | BREAKPOINT);
            (at, word)
        });
        Self { pid, words: words.collect() }
    }

    /// Lets it go to its end; which breakpoints were met, in the order of their addresses.
    fn met(&self) -> Vec<bool> {
        let mut met: BTreeMap<u64, bool> = self.words.keys().map(|at| (*at, false)).collect();
        let _ = ptrace(libc::PTRACE_CONT, self.pid, 0, 0);
        loop {
            let (pid, status) = next();
            assert!(pid > 0, "nothing is left to trace");
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                if pid == self.pid {
                    return met.into_values().collect();
                }
                continue;
            }
            let signal = libc::WSTOPSIG(status);
            let is_own = matches!(signal, libc::SIGTRAP | libc::SIGSTOP);
            if signal == libc::SIGTRAP && status >> 16 == 0 {
                self.step_back(pid, &mut met);
            }
            let passed_on = if is_own { 0 } else { signal as u64 };
            let _ = ptrace(libc::PTRACE_CONT, pid, 0, passed_on);
        }
    }

    /// Takes the breakpoint out that a thread has met, and lets it run the instruction.
    fn step_back(&self, thread: libc::pid_t, met: &mut BTreeMap<u64, bool>) {
        // SAFETY: all zero is a valid value of numbers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        ptrace(libc::PTRACE_GETREGS, thread, 0, (&raw mut registers).expose_provenance() as u64);
        let at = registers.rip - 1;
        let Some(word) = self.words.get(&at) else { return };
        met.insert(at, true);
        ptrace(libc::PTRACE_POKETEXT, thread, at, *word);
        registers.rip = at;
        ptrace(libc::PTRACE_SETREGS, thread, 0, (&raw mut registers).expose_provenance() as u64);
    }
}

/// Roles with many calls, and whether the function was entered when the same was run again.
fn entered(verb: &str, request: &Value) -> Vec<(String, bool)> {
    let outcome = run_enough(verb, request, 1);
    let ran = outcome.only("result")["ran"].as_array().unwrap().clone();
    let linked = |one: &Value| {
        let text = one["address"].as_str().unwrap().trim_start_matches("0x").to_owned();
        u64::from_str_radix(&text, 16).unwrap()
    };
    let mut called: Vec<(u64, String)> = ran
        .iter()
        .filter(|one| one["calls"].as_u64() >= Some(OFTEN))
        .map(|one| (linked(one), one["role"].as_str().unwrap().to_owned()))
        .collect();
    called.sort();
    called.dedup_by_key(|(address, _)| *address);
    let addresses: Vec<u64> = called.iter().map(|(address, _)| *address).collect();
    let mut met = vec![false; addresses.len()];
    for _ in 0..TRIES {
        for (any, now) in met.iter_mut().zip(met_in_a_run(verb, request, &addresses)) {
            *any |= now;
        }
        if met.iter().all(|met| *met) {
            break;
        }
    }
    called.into_iter().map(|(_, role)| role).zip(met).collect()
}

/// Which of the functions a traced run enters, in the order of their addresses.
#[expect(clippy::zombie_processes, reason = "it is waited for as what is traced")]
fn met_in_a_run(verb: &str, request: &Value, linked: &[u64]) -> Vec<bool> {
    let mut child = traced(verb);
    let traced = Traced::new(child.id() as libc::pid_t, linked);
    let mut input = child.stdin.take().unwrap();
    input.write_all(request.to_string().as_bytes()).unwrap();
    drop(input);
    traced.met()
}

#[test]
fn every_function_that_is_reported_with_many_calls_is_entered() {
    if !is_x86() {
        // An emulator cannot be traced like this.
        return;
    }
    let times = json!({"warmup_ms": 20, "window_ms": 60, "threads": 2, "pin": false});
    let with = |parts: Value, workload: Value| {
        let mut request = times.clone();
        request["parts"] = parts;
        request["workload"] = workload;
        request
    };
    let records = json!({"records": 1000, "mix": "a"});
    let mut seen = BTreeMap::new();
    for (index, cc) in [
        ("latched", "optimistic"),
        ("optimistic", "multi-version"),
        ("hash", "no-wait"),
        ("latched", "wait-die"),
    ] {
        for hash_cache in ["off", "on"] {
            if hash_cache == "on" && index == "hash" {
                continue;
            }
            let store = if hash_cache == "on" { "memory" } else { "pages" };
            let parts = json!({"index": index, "cc": cc, "hash_cache": hash_cache, "store": store});
            for (role, was_met) in entered("engine", &with(parts, records.clone())) {
                assert!(was_met, "{role} of {index}, {cc}, hash cache {hash_cache}: never entered");
                *seen.entry(role).or_insert(0) += 1;
            }
        }
    }
    for (parts, workload) in [
        (json!({"data_cache": "optimistic"}), records),
        (json!({"plan": "vectorised"}), json!({"kind": "aggregate", "rows": 1000, "sums": 3})),
    ] {
        for (role, was_met) in entered("engine", &with(parts, workload)) {
            assert!(was_met, "{role}: never entered");
            *seen.entry(role).or_insert(0) += 1;
        }
    }
    for kind in ["hash", "chase", "counters", "unaligned", "call", "atomic", "simd", "order"] {
        for (role, was_met) in entered("micro", &with(json!({}), json!({"kind": kind}))) {
            assert!(was_met, "{role}: never entered");
        }
    }
    for role in ["index_find", "cc", "data_cache_lookup", "plan"] {
        assert!(seen.contains_key(role), "{role} was never called: {seen:?}");
    }
}
