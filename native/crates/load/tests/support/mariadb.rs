//! A MariaDB of our own, without users.

use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::server::{Server, Shared, directory, free_port, unprivileged};
use super::slow::SlowMaria;

pub struct MariaDb {
    pub server: Server,
}

impl MariaDb {
    /// One that the tests of a file share, each with databases of its own.
    pub fn shared() -> Arc<Self> {
        static SHARED: Shared<MariaDb> = Shared::new();
        SHARED.get(Self::start)
    }

    pub fn start() -> Self {
        let (directory, port) = (directory("mariadb"), free_port());
        let data = format!("--datadir={}", directory.display());
        let socket = format!("--socket={}", directory.join("socket").display());
        let mut command = unprivileged("mariadbd");
        command.args(["--no-defaults", &data, &socket, "--bind-address=127.0.0.1"]);
        // Without grants it needs none of the tables that mariadb-install-db takes seconds to make.
        command.arg("--skip-grant-tables");
        command.arg(format!("--port={port}"));
        command.args(["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"]);
        // Two transactions that wait for each other are found at once; others give up in a second.
        command.args(["--innodb-lock-wait-timeout=1", "--skip-name-resolve"]);
        let is_ready = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        Self { server: Server::start(directory, port, &mut command, is_ready) }
    }

    /// A new database.
    pub fn create(&self, database: &str) {
        self.connect("information_schema")
            .query_drop(format!("CREATE DATABASE {database}"))
            .unwrap();
    }

    pub fn connect(&self, database: &str) -> Conn {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.server.port)
            .prefer_socket(false)
            .user(Some("root"))
            .db_name(Some(database));
        Conn::new(options).unwrap()
    }

    pub fn session(&self, database: &str) -> SlowMaria {
        SlowMaria::new(self.connect(database))
    }

    /// `sysbench` with a driver for this server.
    pub fn sysbench(&self, database: &str, test: &str) -> Command {
        let mut command = Command::new("sysbench");
        command.args([test, "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root"]);
        command.arg(format!("--mysql-port={}", self.server.port));
        command.arg(format!("--mysql-db={database}"));
        command
    }
}
