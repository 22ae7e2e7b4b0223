//! `assayer`: whatever in Assay must be fast or undisturbed, behind JSON lines.
//!
//! This file parses the verb, runs it, and turns its end into an exit code. The wire format is the
//! doc of `protocol`; the verbs are under `verbs`.

mod failure;
mod files;
mod life;
mod output;
mod protocol;
mod verbs;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::output::Output;
use crate::protocol::response;

/// The native half of Assay: load, engine, micro-benchmarks, host facts, instruction census.
///
/// Reads one JSON request on standard input and writes JSON lines on standard output.
#[derive(Parser)]
#[command(version, after_help = "Example: echo '{\"threads\": 2}' | assayer engine")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Clone, Copy, Subcommand)]
enum Verb {
    /// Run a workload against the embedded engine.
    Engine,
    /// Run one primitive alone: a lock, or a checksum.
    Micro,
    /// Put load on a server.
    Load,
    /// Write the rows of the workload `hits` into a file, and say its statements.
    Hits,
    /// Run YCSB in this process on RocksDB or SQLite, loaded as a shared library.
    Store,
    /// Run a command to its end, again and again, and say what each time took.
    Job,
    /// Ask a server questions, and give their answers as texts.
    Ask,
    /// Be a small server, to try clients and proxies on.
    Serve,
    /// Read counters of the host and of a process again and again.
    Sample,
    /// Sample where a process' threads are, by function.
    Profile,
    /// Say what this host is and what can be measured on it.
    Facts,
    /// Count the instructions of functions in an executable.
    Census,
    /// Say what ELF files are, and where their symbols are.
    Object,
}

fn main() -> ExitCode {
    life::begin();
    let Arguments { verb } = Arguments::parse();
    let mut output = Output::new(std::io::stdout());
    let result = verbs::read_request().and_then(|request| match verb {
        Verb::Engine => verbs::engine::run(request, &mut output),
        Verb::Micro => verbs::micro::run(request, &mut output),
        Verb::Load => verbs::load::run(request, &mut output),
        Verb::Hits => verbs::hits::run(request, &mut output),
        Verb::Store => verbs::store::run(request, &mut output),
        Verb::Job => verbs::job::run(request, &mut output),
        Verb::Ask => verbs::ask::run(request, &mut output),
        Verb::Serve => verbs::serve::run(request, &mut output),
        Verb::Sample => verbs::sample::run(request, &mut output),
        Verb::Profile => verbs::profile::run(request, &mut output),
        Verb::Facts => verbs::facts::run(request, &mut output),
        Verb::Census => verbs::census::run(request, &mut output),
        Verb::Object => verbs::object::run(request, &mut output),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => told(&failure, &mut output),
    }
}

/// Writes the error line and gives the exit code.
fn told(failure: &Failure, output: &mut Output) -> ExitCode {
    let failed_next = "run it again by hand and read standard error";
    let (kind, next, code) = match failure {
        Failure::Usage { next, .. } => ("usage", next.as_str(), 2),
        Failure::Missing { next, .. } => ("missing", next.as_str(), 3),
        Failure::Failed(_) => ("failed", failed_next, 1),
        Failure::ReaderGone => return ExitCode::SUCCESS,
    };
    let message = failure.to_string();
    // If the reader is gone as well, the exit code is all that is left to say.
    let _ = output.write("error", &response::Error { kind, message: &message, next });
    ExitCode::from(code)
}
