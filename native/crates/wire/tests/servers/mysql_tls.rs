//! MariaDB over TLS. Needs Debian's package `mariadb-server-core`.

use assay_runtime::Handle;
use assay_wire::mysql::{Row, Session};
use assay_wire::sql::{Row as _, Session as _, Type, Value};
use assay_wire::{Target, Tls, WireError};

use crate::authority::Authority;
use crate::mariadb_server::MariadbServer;
use crate::tls::{agreed, believed, checked};
use crate::worker::run;

/// A server with TLS that lets nobody in without over TCP.
fn server(authority: &Authority) -> MariadbServer {
    let (certificate, key) = authority.files();
    MariadbServer::start(&[
        &format!("--ssl-cert={}", certificate.display()),
        &format!("--ssl-key={}", key.display()),
        "--require-secure-transport=ON",
    ])
}

fn user(server: &MariadbServer, name: &str, tls: Option<Tls>) -> Target {
    let password = Some("se cret".to_owned());
    Target { address: server.port(), user: name.to_owned(), password, tls, ..server.root("lab") }
}

async fn make(
    handle: &Handle,
    server: &MariadbServer,
    texts: &[&str],
) -> Vec<Result<(), WireError>> {
    let mut root = Session::open(handle, &server.root("")).await.unwrap();
    let mut made = Vec::new();
    for text in texts {
        made.push(root.batch(text).await.map(|_| ()));
    }
    made
}

#[test]
fn users_log_in_over_tls_and_rows_of_any_size_come_over_it() {
    let authority = Authority::new();
    let server = server(&authority);
    run(|handle| async move {
        let made = make(
            &handle,
            &server,
            &[
                "CREATE DATABASE lab",
                "CREATE USER native@'%' IDENTIFIED BY 'se cret'",
                "GRANT ALL ON lab.* TO native@'%'",
                // A plugin that not every package has.
                "INSTALL SONAME 'auth_ed25519'",
                "CREATE USER signs@'%' IDENTIFIED VIA ed25519 USING PASSWORD('se cret')",
                "GRANT ALL ON lab.* TO signs@'%'",
            ],
        );
        let made = made.await;
        assert!(made[..3].iter().all(Result::is_ok), "{made:?}");
        let names = if made[5].is_ok() { &["native", "signs"][..] } else { &["native"] };
        for name in names {
            for tls in [checked(&authority, "localhost"), believed(false), believed(true)] {
                let target = user(&server, name, tls);
                let mut session = Session::open(&handle, &target).await.unwrap();
                session.ping().await.unwrap();
                assert!(agreed(&target.tls).unwrap().starts_with("TLSv1.3 TLS_"));
                session.close().await;
            }
        }
        let target = user(&server, "native", checked(&authority, "127.0.0.1"));
        let mut session = Session::open(&handle, &target).await.unwrap();
        let text = "SELECT seq, REPEAT('x', ?) FROM seq_1_to_50000 WHERE seq <= ?";
        let statement = session.prepare(text, &[Type::Int, Type::Int]).await.unwrap();
        for (width, rows) in [(1, 1), (1, 50_000), (1_000_000, 20)] {
            let (mut seen, mut bytes) = (0, 0);
            let visit = |row: &Row<'_>| {
                seen += 1;
                bytes += row.text(1)?.unwrap().len();
                Ok(())
            };
            let values = [Value::Int(width), Value::Int(rows)];
            session.run(statement, &values, visit).await.unwrap();
            assert_eq!((seen, bytes as i64), (rows, rows * width));
        }
    });
}

#[test]
fn a_server_that_wants_tls_says_so_and_one_with_a_certificate_of_others_is_refused() {
    let authority = Authority::new();
    let server = server(&authority);
    run(|handle| async move {
        let told = async |tls: Option<Tls>| {
            let target = user(&server, "native", tls);
            Session::open(&handle, &target).await.err().unwrap().to_string()
        };
        let why = told(None).await;
        assert!(why.contains("or give sslmode=require if nobody is let in without TLS"), "{why}");
        let why = told(checked(&authority, "elsewhere")).await;
        assert!(why.contains("the certificate of elsewhere is not trusted"), "{why}");
        let why = told(checked(&Authority::new(), "localhost")).await;
        assert!(why.contains("the certificate of localhost is not trusted: none of"), "{why}");
        let why = told(checked(&authority, "localhost")).await;
        assert!(why.contains("1045"), "there is no such user yet: {why}");
    });
}

#[test]
fn a_server_without_tls_is_an_error_unless_tls_is_only_preferred() {
    let server = MariadbServer::start_without_users(&[]);
    run(|handle| async move {
        let mut target = Target { database: String::new(), ..user(&server, "me", believed(false)) };
        let why = Session::open(&handle, &target).await.err().unwrap().to_string();
        assert!(why.contains("the server has none; next: turn it on there"), "{why}");
        target.tls = believed(true);
        Session::open(&handle, &target).await.unwrap().ping().await.unwrap();
        assert_eq!(agreed(&target.tls), None);
    });
}
