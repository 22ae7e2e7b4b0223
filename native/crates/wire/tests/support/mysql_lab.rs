//! What the tests with a real server share: the server, its users, and short words.
#![allow(dead_code)] // Not every file of tests needs everything.

use std::sync::OnceLock;

use assay_runtime::{Handle, sleep_until};
use assay_wire::mysql::{Features, Row, Session};
use assay_wire::sql::Session as _;
use assay_wire::{ServerErrorKind, WireError};

use crate::mariadb_server::MariadbServer;
use crate::worker::run;

const USERS: &str = "CREATE DATABASE lab CHARACTER SET utf8mb4; CREATE USER native@'%' IDENTIFIED BY 'se cret'; \
    GRANT ALL ON lab.* TO native@'%'; CREATE USER nobody@'%' IDENTIFIED BY ''; \
    CREATE USER talk@'localhost' IDENTIFIED VIA pam";

/// The server that the tests of this file share; each works in tables of its own.
pub fn server() -> &'static MariadbServer {
    static SERVER: OnceLock<MariadbServer> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = MariadbServer::start(&[]);
        let root = server.root("");
        run(|handle| async move {
            let mut session = Session::open(&handle, &root).await.unwrap();
            // The last statement needs a plugin that not every package has.
            let made = session.batch(USERS).await;
            assert!(made.is_ok() || code(made.unwrap_err()) == "1524");
        });
        server
    })
}

pub fn code(error: WireError) -> String {
    match error {
        WireError::Server { code, .. } => code,
        error => panic!("no error of the server: {error}"),
    }
}

pub fn kind(error: WireError) -> ServerErrorKind {
    match error {
        WireError::Server { kind, .. } => kind,
        error => panic!("no error of the server: {error}"),
    }
}

pub async fn lab(handle: &Handle) -> Session {
    Session::open(handle, &server().root("lab")).await.unwrap()
}

pub fn ignore(_: &Row<'_>) -> Result<(), WireError> {
    Ok(())
}

pub async fn wait_ms(handle: &Handle, ms: u64) {
    let clock = handle.clock();
    sleep_until(handle, clock.ticks() + clock.ticks_of_ns(ms * 1_000_000)).await;
}

pub const ALL_FEATURES: [Features; 4] = [
    Features { deprecate_eof: true, cache_metadata: true },
    Features { deprecate_eof: true, cache_metadata: false },
    Features { deprecate_eof: false, cache_metadata: true },
    Features { deprecate_eof: false, cache_metadata: false },
];
