//! A PostgreSQL of our own, without passwords, that logs every statement.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use postgres::{Client, NoTls};

use super::server::{Server, Shared, directory, free_port, output, unprivileged};
use super::slow::SlowPostgres;

pub struct Postgres {
    pub server: Server,
}

/// Debian keeps the programs out of the path, in a directory per version.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("install postgresql");
    let programs = versions.map(|version| version.unwrap().path().join("bin").join(name));
    programs.filter(|program| program.exists()).max().expect("install postgresql")
}

impl Postgres {
    /// One that the tests of a file share, each with databases of its own.
    pub fn shared() -> Arc<Self> {
        static SHARED: Shared<Postgres> = Shared::new();
        SHARED.get(Self::start)
    }

    pub fn start() -> Self {
        let (directory, port) = (directory("postgres"), free_port());
        let data = directory.join("data");
        let mut install = unprivileged(program("initdb"));
        install.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "-D"]);
        output(install.arg(&data));
        let mut command = unprivileged(program("postgres"));
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        let sockets = format!("unix_socket_directories={}", directory.display());
        for setting in [
            &sockets,
            "listen_addresses=127.0.0.1",
            "fsync=off",
            "log_statement=all",
            "log_line_prefix=",
            "shared_buffers=32MB",
            "deadlock_timeout=50ms",
        ] {
            command.args(["-c", setting]);
        }
        let is_ready = || Client::connect(&url(port, "postgres"), NoTls).is_ok();
        Self { server: Server::start(directory, port, &mut command, is_ready) }
    }

    /// A new database.
    pub fn create(&self, database: &str) {
        let create = format!("CREATE DATABASE {database}");
        self.connect("postgres").batch_execute(&create).unwrap();
    }

    pub fn connect(&self, database: &str) -> Client {
        Client::connect(&url(self.server.port, database), NoTls).unwrap()
    }

    pub fn session(&self, database: &str) -> SlowPostgres {
        SlowPostgres::new(self.connect(database))
    }

    /// `sysbench` with a driver for this server.
    pub fn sysbench(&self, database: &str, test: &str) -> Command {
        let mut command = Command::new("sysbench");
        command.args([
            test,
            "--db-driver=pgsql",
            "--pgsql-host=127.0.0.1",
            "--pgsql-user=postgres",
        ]);
        command.arg(format!("--pgsql-port={}", self.server.port));
        command.arg(format!("--pgsql-db={database}"));
        command
    }
}

fn url(port: u16, database: &str) -> String {
    format!("host=127.0.0.1 port={port} user=postgres dbname={database}")
}
