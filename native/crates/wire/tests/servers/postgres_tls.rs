//! PostgreSQL over TLS. Needs Debian's package `postgresql`.

use std::os::unix::fs::{PermissionsExt, chown};

use assay_runtime::Handle;
use assay_wire::postgres::{Row, Session};
use assay_wire::sql::{Row as _, Session as _, Type, Value};
use assay_wire::{Target, Tls};

use crate::authority::Authority;
use crate::postgres_server::{Server, other_user};
use crate::tls::{agreed, believed, checked};
use crate::worker::run;

/// A server with TLS that lets nobody in without over TCP.
fn server(authority: &Authority) -> Server {
    let (certificate, key) = authority.files();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let access = authority.folder().join("hba.conf");
    let lines = "local all all trust\nhostssl all scram_user 127.0.0.1/32 scram-sha-256\n\
                 hostssl all postgres 127.0.0.1/32 trust\n";
    std::fs::write(&access, lines).unwrap();
    if let Some((user, group)) = other_user() {
        chown(&key, Some(user), Some(group)).unwrap();
    }
    Server::start_with(&format!(
        "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\nhba_file = '{}'",
        certificate.display(),
        key.display(),
        access.display()
    ))
}

async fn told(handle: &Handle, target: Target, tls: Option<Tls>) -> String {
    Session::open(handle, &Target { tls, ..target }).await.err().unwrap().to_string()
}

#[test]
fn rows_of_any_size_come_over_tls() {
    let authority = Authority::new();
    let server = server(&authority);
    run(|handle| async move {
        let tls = checked(&authority, "localhost");
        let target = Target { tls: tls.clone(), ..server.target() };
        let mut session = Session::open(&handle, &target).await.unwrap();
        session.batch("DO $$ BEGIN ASSERT (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()); END $$")
            .await
            .unwrap();
        assert!(agreed(&tls).unwrap().starts_with("TLSv1.3 TLS_"));
        let text = "SELECT n, repeat('x', ?::integer) FROM generate_series(1, ?::bigint) AS n";
        let statement = session.prepare(text, &[Type::Int, Type::Int]).await;
        let statement = match statement {
            Ok(statement) => statement,
            Err(error) => panic!("{error}"),
        };
        for (width, rows) in [(1, 1), (1, 50_000), (1_000_000, 20)] {
            let (mut seen, mut bytes) = (0, 0);
            let visit = |row: &Row<'_>| {
                seen += 1;
                assert_eq!(row.int(0)?, Some(seen));
                bytes += row.text(1)?.unwrap().len();
                Ok(())
            };
            let values = [Value::Int(width), Value::Int(rows)];
            session.run(statement, &values, visit).await.unwrap();
            assert_eq!((seen, bytes as i64), (rows, rows * width));
        }
        session.close().await;
    });
}

#[test]
fn a_password_is_proved_over_tls_and_a_server_that_wants_tls_is_told_apart() {
    let authority = Authority::new();
    let server = server(&authority);
    run(|handle| async move {
        let mut admin = Session::open(&handle, &server.unix_target()).await.unwrap();
        admin.batch("CREATE ROLE scram_user LOGIN PASSWORD 'word'").await.unwrap();
        for tls in [checked(&authority, "127.0.0.1"), believed(false), believed(true)] {
            let target = Target { tls, ..server.target_of("scram_user", Some("word")) };
            Session::open(&handle, &target).await.unwrap().batch("SELECT 1").await.unwrap();
        }
        let target = || server.target_of("scram_user", Some("word"));
        let why = told(&handle, target(), None).await;
        assert!(why.contains("no encryption; next: give sslmode=require"), "{why}");
        let why = told(&handle, target(), checked(&authority, "elsewhere")).await;
        assert!(why.contains("the certificate of elsewhere is not trusted"), "{why}");
        let why = told(&handle, target(), checked(&Authority::new(), "localhost")).await;
        assert!(why.contains("the certificate of localhost is not trusted: none of"), "{why}");
        let why = told(&handle, server.target_of("scram_user", Some("no")), believed(false)).await;
        assert!(why.contains("28P01"), "{why}");
        // Nobody reads along a Unix socket.
        let target = Target { tls: checked(&authority, "elsewhere"), ..server.unix_target() };
        Session::open(&handle, &target).await.unwrap();
        assert_eq!(agreed(&target.tls), None);
    });
}

#[test]
fn a_server_without_tls_is_an_error_unless_tls_is_only_preferred() {
    run(|handle| async move {
        let server = Server::shared();
        let why = told(&handle, server.target(), believed(false)).await;
        assert!(why.contains("the server has none; next: turn it on there"), "{why}");
        let target = Target { tls: believed(true), ..server.target() };
        Session::open(&handle, &target).await.unwrap().batch("SELECT 1").await.unwrap();
        assert_eq!(agreed(&target.tls), None);
    });
}
