//! Running the binary in tests: one request in, an exit code and messages out.
//!
//! These tests run on this machine even where the binary is for another architecture:
//! `ASSAY_BINARY` then names the binary and `ASSAY_RUNNER` what runs it, such as
//! "qemu-aarch64 -cpu max". An emulated process that starts another one can hang, so it is the
//! tests that start the emulator.
#![allow(dead_code)] // Each test file uses its own part of this.

pub mod libraries;

use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The path of the binary under test.
pub fn assayer() -> String {
    env::var("ASSAY_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_assayer").to_owned())
}

/// What runs the binary under test, by words: nothing for this machine's architecture.
pub fn runner() -> String {
    env::var("ASSAY_RUNNER").unwrap_or_default()
}

/// Whether the binary under test is for x86-64, by its ELF header; if not, it is for aarch64.
pub fn is_x86() -> bool {
    let mut header = [0; 20];
    let mut file = File::open(assayer()).expect("the binary is there");
    file.read_exact(&mut header).expect("the binary has a header");
    header[18..] == 62_u16.to_le_bytes()
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub text: String,
    pub messages: Vec<Value>,
}

impl Outcome {
    /// The data of the only message of a type.
    pub fn only(&self, kind: &str) -> &Value {
        let mut found = self.messages.iter().filter(|message| message["type"] == kind);
        let message = found.next().unwrap_or_else(|| panic!("no {kind} in {:?}", self.messages));
        assert!(found.next().is_none(), "more than one {kind}");
        &message["data"]
    }

    /// The types of all messages, in order.
    pub fn types(&self) -> Vec<&str> {
        self.messages.iter().filter_map(|message| message["type"].as_str()).collect()
    }
}

/// The binary as a command.
pub fn command() -> Command {
    let (runner, assayer) = (runner(), assayer());
    let mut words = runner.split_ascii_whitespace().chain([assayer.as_str()]);
    let mut command = Command::new(words.next().expect("there is at least the binary"));
    command.args(words);
    command
}

/// Starts a verb and gives it its request.
pub fn start(verb: &str, request: &Value) -> Child {
    let mut child = command()
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(request.to_string().as_bytes()).expect("the request is read");
    child
}

/// Waits for the end.
pub fn finish(child: Child) -> Outcome {
    let output = child.wait_with_output().expect("the binary ends");
    let text = String::from_utf8(output.stdout).expect("messages are UTF-8");
    let messages = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON"));
    Outcome { code: output.status.code(), messages: messages.collect(), text }
}

/// Runs a verb to its end.
pub fn run(verb: &str, request: &Value) -> Outcome {
    finish(start(verb, request))
}
