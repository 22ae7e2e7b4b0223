//! A PostgreSQL of our own, without passwords.

use std::process::Command;
use std::sync::OnceLock;

use assay_wire::Target;
use assay_wire::postgres::Session;
use assay_wire::sql::Session as _;

use super::postgres_server::Server;
use super::{block_on, handle};

pub struct Postgres(Server);

impl Postgres {
    /// One that the tests of a file share, each with databases of its own.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| Self(Server::start()))
    }

    /// One that logs every statement.
    pub fn start_with_log() -> Self {
        Self(Server::start_with("log_statement = 'all'\nlog_line_prefix = ''"))
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        self.0.log()
    }

    /// A new database.
    pub fn create(&self, database: &str) {
        let mut session = self.session("postgres");
        block_on(session.batch(&format!("CREATE DATABASE {database}"))).unwrap();
    }

    /// A new session, on the worker of this thread.
    pub fn session(&self, database: &str) -> Session {
        block_on(Session::open(&handle(), &self.target(database))).unwrap()
    }

    /// Where a database is.
    pub fn target(&self, database: &str) -> Target {
        Target { database: database.to_owned(), ..self.0.target() }
    }

    /// `sysbench` with a driver for this server.
    pub fn sysbench(&self, database: &str, test: &str) -> Command {
        let mut command = Command::new("sysbench");
        command.args([test, "--db-driver=pgsql", "--pgsql-host=127.0.0.1"]);
        command.arg("--pgsql-user=postgres");
        command.arg(format!("--pgsql-port={}", self.0.port()));
        command.arg(format!("--pgsql-db={database}"));
        command
    }
}
