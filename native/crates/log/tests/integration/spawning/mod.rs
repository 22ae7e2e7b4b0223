//! Tests that start this very binary again, to run one test in a process of its own. Emulated, a
//! process may not start another: these run on this machine and start the emulated binary.

mod file_size_limit;
mod kill;

use std::path::PathBuf;
use std::process::Command;

/// This very test binary as a command, to run one test in a process of its own. `ASSAY_BINARY` names
/// another build of it, and `ASSAY_RUNNER` what runs that, such as "qemu-aarch64 -cpu max".
fn this_binary() -> Command {
    let runner = std::env::var("ASSAY_RUNNER").unwrap_or_default();
    let binary = std::env::var_os("ASSAY_BINARY").map(PathBuf::from);
    let binary = binary.unwrap_or_else(|| std::env::current_exe().unwrap());
    let mut words = runner.split_ascii_whitespace().map(PathBuf::from).chain([binary]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}
