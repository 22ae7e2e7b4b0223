//! A private PostgreSQL server: its own data directory, port and Unix socket.
//!
//! It is ended when it is dropped, and when the test's process ends in whatever way: a shell waits
//! for the end of a pipe, ends the server by its process number and removes its directory. A server
//! refuses to run as root, so that root runs it as user `postgres`, or `nobody`.
#![allow(dead_code)] // No test uses all of it.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use assay_runtime::Address;
use assay_wire::Target;

/// Who may log in, and how. Tests make the roles that they use.
const ACCESS: &str = "\
local all all trust
host all scram_user 127.0.0.1/32 scram-sha-256
host all md5_user 127.0.0.1/32 md5
host all plain_user 127.0.0.1/32 password
host all refused_user 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
";

/// Nothing is kept after the test; deadlocks are looked for soon.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
fsync = off
full_page_writes = off
shared_buffers = '32MB'
max_wal_size = '256MB'
deadlock_timeout = '20ms'
autovacuum = off
max_connections = 100
";

/// Ends the server with the signal that it is told, or at the end of its input. An interrupt from the
/// keyboard does not reach it.
const KEEPER: &str = r#"
folder=$1; shift
"$@" </dev/null >>"$folder/log" 2>&1 & server=$!
if read -r signal; then
    kill -"$signal" "$server"; wait "$server"
else
    kill -QUIT "$server"; wait "$server"; rm -rf "$folder"
fi
"#;

/// A server that runs.
pub struct Server {
    folder: PathBuf,
    port: u16,
    /// Lines of its file of settings, after those that all servers here have.
    settings: String,
    keeper: Option<Child>,
}

impl Server {
    /// Makes a data directory and starts a server on it.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// The same with more settings, as lines of `postgresql.conf`.
    pub fn start_with(settings: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-postgres-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        if let Some((user, group)) = other_user() {
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let port = free_port();
        let mut server = Self { folder, port, settings: settings.to_owned(), keeper: None };
        server.initialise();
        server.go_on();
        server
    }

    /// One server for all tests of a process; ended with the process.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    fn initialise(&self) {
        let data = self.folder.join("data");
        let mut command = as_other_user(&program("initdb"));
        command.args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8"]);
        command.args(["--locale=C", "--no-instructions", "-D"]).arg(&data);
        let made = command.current_dir(&self.folder).output().unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        std::fs::write(data.join("pg_hba.conf"), ACCESS).unwrap();
        let Self { folder, port, settings, .. } = self;
        let folder = folder.display();
        let places = format!("port = {port}\nunix_socket_directories = '{folder}'\n");
        let settings = format!("{SETTINGS}{places}{settings}\n");
        std::fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
    }

    /// Starts the server again on its data.
    pub fn go_on(&mut self) {
        for _ in 0..50 {
            let mut keeper = as_other_user(Path::new("sh"))
                .args(["-c", KEEPER, "keeper"])
                .arg(&self.folder)
                .arg(program("postgres"))
                .arg("-D")
                .arg(self.folder.join("data"))
                .current_dir(&self.folder)
                .stdin(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            if self.is_ready_soon() {
                self.keeper = Some(keeper);
                return;
            }
            // After a kill the old processes hold the data for a moment.
            drop(keeper.stdin.take().unwrap().write_all(b"QUIT\n"));
            keeper.wait().unwrap();
            sleep(Duration::from_millis(50));
        }
        panic!("the PostgreSQL server does not start:\n{}", self.log());
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Whether the server's own file says that it takes connections, before it is gone.
    fn is_ready_soon(&self) -> bool {
        let file = self.folder.join("data/postmaster.pid");
        for turn in 0..1000 {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let mut lines = text.lines();
            let is_alive =
                lines.next().is_some_and(|number| Path::new("/proc").join(number).exists());
            if is_alive && lines.nth(6).is_some_and(|state| state.trim() == "ready") {
                return true;
            }
            if turn > 40 && !is_alive {
                return false;
            }
            sleep(Duration::from_millis(10));
        }
        false
    }

    /// Ends the server with a signal, such as `KILL` or `INT`; its data stay.
    pub fn end(&mut self, signal: &str) {
        let Some(mut keeper) = self.keeper.take() else { return };
        writeln!(keeper.stdin.take().unwrap(), "{signal}").unwrap();
        keeper.wait().unwrap();
        let _ = std::fs::remove_file(self.folder.join("data/postmaster.pid"));
    }

    /// Its TCP port on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The superuser over TCP, who needs no password.
    pub fn target(&self) -> Target {
        self.target_of("postgres", None)
    }

    /// Some user over TCP, in database `postgres`.
    pub fn target_of(&self, user: &str, password: Option<&str>) -> Target {
        Target {
            address: Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))),
            user: user.to_owned(),
            password: password.map(str::to_owned),
            database: "postgres".to_owned(),
            tls: None,
        }
    }

    /// The superuser over the Unix socket.
    pub fn unix_target(&self) -> Target {
        let socket = self.folder.join(format!(".s.PGSQL.{}", self.port));
        Target { address: Address::unix(socket), ..self.target() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A program of the server, from the newest version in Debian's place, or from the path.
pub fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .map(|version| version.path())
        .filter(|version| version.join("bin").join(name).exists())
        .max_by_key(|version| version.file_name()?.to_str()?.parse::<u32>().ok());
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = newest
        .map(|version| version.join("bin"))
        .into_iter()
        .chain(std::env::split_paths(&places))
        .map(|place| place.join(name))
        .find(|program| program.exists());
    found.unwrap_or_else(|| {
        panic!(
            "no program {name:?} under /usr/lib/postgresql or in PATH: these tests need a \
             PostgreSQL server; install Debian's package `postgresql`"
        )
    })
}

/// Whom root runs servers as: number of user and group.
pub fn other_user() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let numbers = ["postgres:", "nobody:"].into_iter().find_map(|name| {
        let line = users.lines().find(|line| line.starts_with(name))?;
        let mut parts = line.split(':').skip(2);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    Some(numbers.expect("a user postgres or nobody"))
}

fn as_other_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C");
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command
}
