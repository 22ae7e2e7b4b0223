//! A MariaDB of our own, without users.

use std::process::Command;
use std::sync::OnceLock;

use assay_runtime::Address;
use assay_wire::Target;
use assay_wire::mysql::Session;
use assay_wire::sql::Session as _;

use super::mariadb_server::MariadbServer;
use super::{block_on, handle};

/// Of two transactions that wait for each other one is given up at once; others give up in a second.
const SETTINGS: [&str; 2] = ["--innodb-lock-wait-timeout=1", "--innodb-flush-method=nosync"];

pub struct MariaDb(MariadbServer);

impl MariaDb {
    /// One that the tests share, each with databases of its own.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<MariaDb> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A new one.
    pub fn start() -> Self {
        Self(MariadbServer::start_without_users(&SETTINGS))
    }

    /// A new database.
    pub fn create(&self, database: &str) {
        let mut session = self.session("information_schema");
        block_on(session.batch(&format!("CREATE DATABASE {database}"))).unwrap();
    }

    /// A new session, on the worker of this thread.
    pub fn session(&self, database: &str) -> Session {
        block_on(Session::open(&handle(), &self.target(database))).unwrap()
    }

    /// Where a database is.
    pub fn target(&self, database: &str) -> Target {
        Target { address: self.0.port(), ..self.0.root(database) }
    }

    /// `sysbench` with a driver for this server.
    pub fn sysbench(&self, database: &str, test: &str) -> Command {
        let Address::Tcp(address) = self.0.port() else { panic!("no port") };
        let mut command = Command::new("sysbench");
        command.args([test, "--db-driver=mysql", "--mysql-user=root"]);
        command.arg(format!("--mysql-host={}", address.ip()));
        command.arg(format!("--mysql-port={}", address.port()));
        command.arg(format!("--mysql-db={database}"));
        command
    }
}
