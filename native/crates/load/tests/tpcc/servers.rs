//! Private servers on loopback, in temporary directories. Each is watched by a shell that reads from
//! this process, and that ends it by its pid when this process has ended, however it did.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub struct Server {
    pub port: u16,
    /// Ends the server when its input ends.
    _watcher: Child,
    databases: AtomicU32,
}

const WATCH: &str = "signal=$1; folder=$2; shift 2; \
                     \"$@\" & pid=$!; cat >/dev/null; \
                     kill -$signal $pid; wait $pid; cd /; rm -rf \"$folder\"";

impl Server {
    pub fn postgres() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(start_postgres)
    }

    pub fn mariadb() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(start_mariadb)
    }

    /// A name for a database that no other test uses.
    pub fn next_database(&self) -> String {
        format!("tpcc{}", self.databases.fetch_add(1, Ordering::Relaxed))
    }
}

/// A folder that the server's user may write, and a free port.
fn place(name: &str) -> (PathBuf, u16) {
    let folder = std::env::temp_dir().join(format!("assay-tpcc-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    if is_root() {
        run(Command::new("chown").arg("nobody").arg(&folder));
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    (folder, port)
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// A command as an ordinary user, since servers refuse root, with temporary files of its own.
fn command(program: impl AsRef<Path>, folder: &Path) -> Command {
    let program = program.as_ref();
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(folder).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn run(command: &mut Command) {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn wait_for(server: Server, is_up: impl Fn(u16) -> bool) -> Server {
    let start = Instant::now();
    while !is_up(server.port) {
        assert!(start.elapsed() < Duration::from_secs(60), "no server on port {}", server.port);
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

/// Starts a server: a program and its arguments.
fn start(signal: &str, folder: &Path, port: u16, words: &[String]) -> Server {
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut shell = command("sh", folder);
    shell.args(["-c", WATCH, "watch", signal]).arg(folder).args(words);
    let watcher = shell.stdin(Stdio::piped()).stderr(log).process_group(0).spawn().unwrap();
    Server { port, _watcher: watcher, databases: AtomicU32::new(0) }
}

fn start_postgres() -> Server {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is not installed");
    let version = versions.map(|entry| entry.unwrap().path()).max().unwrap();
    let (folder, port) = place("postgres");
    let data = folder.join("data");
    run(command(version.join("bin/initdb"), &folder)
        .args(["-U", "assay", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", "-D"])
        .arg(&data));
    let program = version.join("bin/postgres").display().to_string();
    let (data, port_text) = (data.display().to_string(), port.to_string());
    let words = ["-D", &data, "-p", &port_text, "-h", "127.0.0.1", "-k", "", "-c", "fsync=off"];
    let words = [&program[..]].into_iter().chain(words).map(str::to_owned);
    let server = start("QUIT", &folder, port, &words.collect::<Vec<_>>());
    wait_for(server, |port| {
        let text = format!("host=127.0.0.1 port={port} user=assay dbname=postgres");
        postgres::Client::connect(&text, postgres::NoTls).is_ok()
    })
}

fn start_mariadb() -> Server {
    let (folder, port) = place("mariadb");
    let data = format!("--datadir={}", folder.join("data").display());
    run(command("mariadb-install-db", &folder).args([
        "--no-defaults",
        &data,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--innodb-log-file-size=16M",
        "--innodb-flush-method=nosync",
    ]));
    let init = folder.join("init.sql");
    let user = "assay@'127.0.0.1'";
    let texts = format!("CREATE USER IF NOT EXISTS {user};\nGRANT ALL ON *.* TO {user};\n");
    std::fs::write(&init, texts).unwrap();
    let words = [
        "mariadbd".to_owned(),
        "--no-defaults".to_owned(),
        data,
        format!("--port={port}"),
        format!("--socket={}", folder.join("socket").display()),
        format!("--init-file={}", init.display()),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--innodb-flush-log-at-trx-commit=0".to_owned(),
        "--innodb-flush-method=nosync".to_owned(),
        "--innodb-log-file-size=16M".to_owned(),
    ];
    let server = start("KILL", &folder, port, &words);
    wait_for(server, |port| {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .prefer_socket(false)
            .user(Some("assay"));
        mysql::Conn::new(options).is_ok()
    })
}
