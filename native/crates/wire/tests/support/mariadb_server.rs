//! A private MariaDB server for a test: own data directory, port and socket.
#![allow(dead_code)] // Not every file of tests needs everything.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assay_runtime::Address;
use assay_wire::Target;

const INSTALL: &str = "mariadb-install-db";
const SERVER: &str = "mariadbd";
/// Who runs the server when the test runs as root, which the server refuses to be.
const USER: &str = "nobody";
/// Starts the server and waits for the pipe from the test process to close, which it also does when
/// that process dies; then ends the server. Its data goes too, unless it was told to keep it. An
/// interrupt from the keyboard does not reach it.
const KEEPER: &str = r#"folder=$1; shift
"$@" >"$folder/out.log" 2>&1 </dev/null & server=$!
read -r word
kill -KILL $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$folder"
"#;

/// A running server; it ends, and its data goes, when this is dropped or the process ends.
pub struct MariadbServer {
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    keeper: Option<Child>,
}

impl MariadbServer {
    /// A new server with more settings, such as `--sync-binlog=1`. Its user `root` has no password;
    /// its only databases are its own.
    pub fn start(settings: &[&str]) -> Self {
        let mut server = Self::new(settings);
        let mut install = Command::new(INSTALL);
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        install.args(["--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=4M"]);
        install.arg(format!("--datadir={}", server.folder.join("data").display()));
        if is_root() {
            install.arg(format!("--user={USER}"));
        }
        install.env("TMPDIR", &server.folder);
        must(&mut install, "mariadb-server-core");
        server.start_again();
        server
    }

    /// A new server without users, which asks nobody for a password. It needs none of the tables
    /// that take seconds to install.
    pub fn start_without_users(settings: &[&str]) -> Self {
        let mut server = Self::new(settings);
        server.settings.push("--skip-grant-tables".to_owned());
        let data = server.folder.join("data");
        std::fs::create_dir(&data).expect("a folder for its data");
        own(&data);
        server.start_again();
        server
    }

    fn new(settings: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-mariadb-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        own(&folder);
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Self { folder, port: free_port(), settings, keeper: None }
    }

    /// Starts it after [`MariadbServer::kill`], with the data it had.
    pub fn start_again(&mut self) {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(&self.folder).arg(SERVER);
        let path = |name: &str| self.folder.join(name).display().to_string();
        command.args([
            "--no-defaults".to_owned(),
            format!("--datadir={}", path("data")),
            format!("--socket={}", path("socket")),
            format!("--pid-file={}", path("pid")),
            format!("--log-error={}", path("error.log")),
            format!("--port={}", self.port),
        ]);
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve"]);
        command.args(["--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--innodb-log-file-size=64M", "--performance-schema=OFF"]);
        command.args(["--max-allowed-packet=64M"]);
        if is_root() {
            command.arg(format!("--user={USER}"));
        }
        // Servers that share a folder for temporary tables take them from each other.
        command.env("TMPDIR", &self.folder);
        command.args(&self.settings).stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::null()).process_group(0);
        let keeper = command.spawn().expect("a shell");
        self.keeper = Some(keeper);
        self.wait();
    }

    fn wait(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        let socket = self.folder.join("socket");
        while Instant::now() < until {
            if UnixStream::connect(&socket).is_ok() && TcpStream::connect(self.tcp()).is_ok() {
                return;
            }
            let log = self.log();
            // The shell's words; the server says of some of its own files that they are not found.
            let shell = format!("{SERVER}: ");
            let mut lines = log.lines();
            let is_missing = lines.any(|line| line.contains(&shell) && line.ends_with("not found"));
            assert!(!is_missing, "{}", missing(SERVER, "mariadb-server-core"));
            assert!(!log.contains("Aborting"), "mariadbd does not start:\n{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("mariadbd does not listen after a minute:\n{}", self.log());
    }

    fn log(&self) -> String {
        let read = |name| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        read("out.log") + &read("error.log")
    }

    fn tcp(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its port.
    pub fn port(&self) -> Address {
        Address::Tcp(self.tcp())
    }

    /// Its socket.
    pub fn socket(&self) -> Address {
        Address::unix(self.folder.join("socket"))
    }

    /// Its administrator, over the socket.
    pub fn root(&self, database: &str) -> Target {
        let (user, database) = ("root".to_owned(), database.to_owned());
        Target { address: self.socket(), user, password: None, database, tls: None }
    }

    /// Ends it as a crash would. Its data stays.
    pub fn kill(&mut self) {
        self.end("keep\n");
    }

    fn end(&mut self, word: &str) {
        let Some(mut keeper) = self.keeper.take() else { return };
        if let Some(mut pipe) = keeper.stdin.take() {
            // A keeper that is gone has nothing to end.
            let _ = std::io::Write::write_all(&mut pipe, word.as_bytes());
        }
        let _ = keeper.wait();
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        self.end("");
        // Left behind when the server was killed before.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn is_root() -> bool {
    let mut status = String::new();
    let file = std::fs::File::open("/proc/self/status");
    file.and_then(|mut file| file.read_to_string(&mut status)).expect("/proc/self/status");
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// Gives a folder to whom the server runs as.
fn own(folder: &Path) {
    if is_root() {
        must(Command::new("chown").args(["-R", USER]).arg(folder), "coreutils");
    }
}

fn missing(program: &str, package: &str) -> String {
    format!("{program} is not here: install the Debian package {package} to run this test")
}

fn must(command: &mut Command, package: &str) {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().unwrap_or_else(|_| panic!("{}", missing(&program, package)));
    let said = String::from_utf8_lossy(&output.stderr);
    let also = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{program} failed: {said}{also}");
}
