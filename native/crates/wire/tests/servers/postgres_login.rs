//! Logging in to a real PostgreSQL server. Needs Debian's package `postgresql`.

use std::net::TcpListener;

use assay_runtime::{Address, Handle};
use assay_wire::postgres::Session;
use assay_wire::sql::Session as _;
use assay_wire::{Target, WireError};

use crate::postgres_server::Server;
use crate::worker::run;

const PASSWORD: &str = "It's a \"long\" pässword, with ½ of everything = 20 %";

/// Each role's password is stored as its way of login needs it.
async fn make_roles(handle: &Handle) {
    let mut admin = Session::open(handle, &Server::shared().target()).await.unwrap();
    let quoted = PASSWORD.replace('\'', "''");
    for (role, stored) in [
        ("scram_user", "scram-sha-256"),
        ("md5_user", "md5"),
        ("plain_user", "scram-sha-256"),
        ("refused_user", "scram-sha-256"),
    ] {
        let text = format!(
            "SET password_encryption = '{stored}'; DROP ROLE IF EXISTS {role};
             CREATE ROLE {role} LOGIN PASSWORD '{quoted}'"
        );
        admin.batch(&text).await.unwrap();
    }
    admin.close().await;
}

/// The error's words, when a login fails as one.
async fn why(handle: &Handle, target: &Target) -> String {
    match Session::open(handle, target).await {
        Err(WireError::Login { user, why }) => {
            assert_eq!(user, target.user);
            why
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{target:?} was let in"),
    }
}

#[test]
fn the_right_password_lets_in_and_a_wrong_one_or_none_does_not() {
    run(|handle| async move {
        let server = Server::shared();
        make_roles(&handle).await;
        for user in ["scram_user", "md5_user", "plain_user"] {
            let target = server.target_of(user, Some(PASSWORD));
            let mut session = Session::open(&handle, &target).await.unwrap();
            session.batch("SELECT 1").await.unwrap();
            session.close().await;

            let told = why(&handle, &server.target_of(user, Some("wrong"))).await;
            assert!(told.starts_with("28P01: password authentication failed"), "{user}: {told}");
            let told = why(&handle, &server.target_of(user, None)).await;
            assert!(told.contains("asks for a password, and none was given"), "{user}: {told}");
        }
        let told = why(&handle, &server.target_of("refused_user", Some(PASSWORD))).await;
        assert!(told.starts_with("28000: pg_hba.conf rejects"), "{told}");
    });
}

#[test]
fn a_trusted_user_needs_no_password_over_tcp_or_a_unix_socket() {
    run(|handle| async move {
        let server = Server::shared();
        for target in [server.target(), server.unix_target()] {
            let mut session = Session::open(&handle, &target).await.unwrap();
            session.batch("SELECT 1").await.unwrap();
        }
    });
}

#[test]
fn what_a_login_names_wrongly_is_told_in_the_servers_words() {
    run(|handle| async move {
        let server = Server::shared();
        let database = "nowhere".to_owned();
        let told = why(&handle, &Target { database, ..server.target() }).await;
        assert_eq!(told, "3D000: database \"nowhere\" does not exist");
        let told = why(&handle, &server.target_of("nobody_at_all", None)).await;
        assert_eq!(told, "28000: role \"nobody_at_all\" does not exist");
    });
}

#[test]
fn no_database_means_the_one_named_like_the_user() {
    run(|handle| async move {
        let target = Target { database: String::new(), ..Server::shared().target() };
        let mut session = Session::open(&handle, &target).await.unwrap();
        session.batch("DO $$ BEGIN ASSERT current_database() = 'postgres'; END $$").await.unwrap();
    });
}

#[test]
fn a_port_without_a_server_is_named() {
    run(|handle| async move {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let target = Target { address: Address::Tcp(free), ..Server::shared().target() };
        let error = Session::open(&handle, &target).await.err().unwrap();
        assert!(error.to_string().contains(&free.to_string()), "{error}");
    });
}

#[test]
fn a_user_with_a_zero_byte_is_refused_before_anything_is_sent() {
    run(|handle| async move {
        let target = Server::shared().target_of("post\0gres", None);
        let error = Session::open(&handle, &target).await.err().unwrap();
        assert!(error.to_string().contains("zero byte"), "{error}");
    });
}
