//! A server process: its directory, its port, its end.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// nobody, as whom servers run when the test is root: they refuse to be root.
const NOBODY: u32 = 65_534;

/// A running server. Dropped, it is killed and its directory removed.
pub struct Server {
    child: Child,
    pub directory: PathBuf,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Server {
    /// Starts what `command` says, and waits until `is_ready`.
    pub fn start(
        directory: PathBuf,
        port: u16,
        command: &mut Command,
        is_ready: impl Fn() -> bool,
    ) -> Self {
        let child = command.stdout(Stdio::null()).stderr(log(&directory)).spawn();
        let child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut server = Self { child, directory, port };
        let start = Instant::now();
        while !is_ready() {
            let is_late = start.elapsed() > Duration::from_secs(30);
            if is_late || server.child.try_wait().unwrap().is_some() {
                panic!("no server: {}", server.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.directory.join("log")).unwrap()).into_owned()
    }
}

fn log(directory: &Path) -> fs::File {
    fs::File::options().create(true).append(true).open(directory.join("log")).unwrap()
}

/// A new directory that belongs to whom servers run as.
pub fn directory(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("assay-load-{name}-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    if is_root() {
        chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    directory
}

/// A port nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A command that runs as nobody if the test is root.
pub fn unprivileged(program: impl AsRef<Path>) -> Command {
    if !is_root() {
        return Command::new(program.as_ref());
    }
    let mut command = Command::new("setpriv");
    let nobody = NOBODY.to_string();
    command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--"]);
    command.arg(program.as_ref());
    command
}

/// Runs a command to its end and returns what it wrote.
pub fn output(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{text}{errors}");
    text
}

/// A server that tests share as long as one of them uses it. Whoever needs it next starts another.
pub struct Shared<S>(Mutex<Weak<S>>);

impl<S> Shared<S> {
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    pub fn get(&self, start: impl FnOnce() -> S) -> Arc<S> {
        let mut shared = self.0.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(start());
            *shared = Arc::downgrade(&server);
            server
        })
    }
}
