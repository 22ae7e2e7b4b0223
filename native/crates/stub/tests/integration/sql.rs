//! Stand-ins for SQL servers, as our own sessions see them.

use assay_runtime::{Address, Connection, Handle};
use assay_stub::sql;
use assay_wire::answers::{Answers, Column, ColumnType, Command as Does, Shape};
use assay_wire::mysql::{self, Features};
use assay_wire::postgres::{self, TransactionState};
use assay_wire::sql::{Row as _, Session, Type, Value};
use assay_wire::{Target, WireError};

use crate::worker::{listen, run};

/// Knows one statement, in both dialects: its parameters come back in as many rows as the first.
struct Echo(Shape);

const TEXTS: [&str; 2] = ["SELECT ?, ?", "SELECT $1, $2"];

impl Echo {
    fn new() -> Self {
        let column = |name, kind| Column { name, kind };
        let columns = vec![column("n", ColumnType::Decimal), column("t", ColumnType::Text)];
        Self(Shape { command: Does::Select, parameters: 2, columns })
    }
}

impl Answers for Echo {
    fn find(&self, text: &str) -> Option<usize> {
        TEXTS.iter().position(|known| *known == text)
    }

    fn shape(&self, _: usize) -> &Shape {
        &self.0
    }

    fn answer(&self, _: usize, values: &[Value<'_>], row: &mut dyn FnMut(&[Value<'_>])) -> u64 {
        let Value::Int(count) = values[0] else { return 0 };
        (0..count).for_each(|_| row(values));
        0
    }
}

fn target(address: &Address) -> Target {
    let password = Some("anything".to_owned());
    let (user, database) = ("anybody".to_owned(), "anywhere".to_owned());
    Target { address: address.clone(), user, password, database, tls: None }
}

fn spawn(handle: &Handle, is_mysql: bool) -> Address {
    let (listener, address) = listen(handle);
    let own = handle.clone();
    handle.spawn(async move {
        let ended = match is_mysql {
            true => sql::mysql::serve(own, listener, Echo::new()).await,
            false => sql::postgres::serve(own, listener, Echo::new()).await,
        };
        panic!("{ended}");
    });
    address
}

fn words(error: WireError) -> String {
    match error {
        WireError::Server { message, .. } => message,
        other => panic!("{other} is no error of the server's"),
    }
}

async fn talk<S: Session>(session: &mut S) {
    let echo = session.prepare(TEXTS[0], &[Type::Int, Type::Text]).await.unwrap();
    for count in [3, 0, 1] {
        let mut seen = 0;
        let values = [Value::Int(count), Value::Text(b"text")];
        let visit = |row: &S::Row<'_>| {
            assert_eq!((row.int(0)?, row.text(1)?), (Some(count), Some(&b"text"[..])));
            seen += 1;
            Ok(())
        };
        let completion = session.run(echo, &values, visit).await.unwrap();
        assert_eq!((completion.rows, seen), (count as u64, count));
    }
    for text in ["BEGIN", "COMMIT", "begin;", "ROLLBACK", "SET names utf8", "SELECT 1"] {
        session.batch(text).await.unwrap();
    }
    for refused in [
        session.prepare("SELECT secret", &[]).await.map(drop),
        session.batch("SELECT secret").await.map(drop),
    ] {
        let words = words(refused.unwrap_err());
        assert!(words.contains("stand-in") && words.contains("SELECT secret"), "{words}");
    }
    session.batch("SELECT 1").await.unwrap();
}

#[test]
fn our_own_sessions_are_answered_whatever_was_agreed_on() {
    run(|handle| async move {
        let address = spawn(&handle, true);
        for deprecate_eof in [false, true] {
            for cache_metadata in [false, true] {
                let features = Features { deprecate_eof, cache_metadata };
                let mut session =
                    mysql::Session::open_with(&handle, &target(&address), features).await.unwrap();
                assert_eq!(session.features(), features);
                talk(&mut session).await;
                session.ping().await.unwrap();
                session.close().await;
            }
        }
        let address = spawn(&handle, false);
        let mut session = postgres::Session::open(&handle, &target(&address)).await.unwrap();
        talk(&mut session).await;
    });
}

#[test]
fn a_transaction_of_postgres_that_has_failed_takes_only_its_end() {
    run(|handle| async move {
        let address = spawn(&handle, false);
        let mut session = postgres::Session::open(&handle, &target(&address)).await.unwrap();
        session.batch("BEGIN").await.unwrap();
        assert_eq!(session.transaction_state(), TransactionState::InTransaction);
        session.batch("SELECT secret").await.unwrap_err();
        assert_eq!(session.transaction_state(), TransactionState::Failed);
        let refused = words(session.batch("SELECT 1").await.unwrap_err());
        assert!(refused.contains("ROLLBACK"), "{refused}");
        session.batch("ROLLBACK").await.unwrap();
        assert_eq!(session.transaction_state(), TransactionState::Idle);
        session.batch("SELECT 1").await.unwrap();
    });
}

#[test]
fn bytes_that_are_no_request_are_answered_by_an_error_and_the_end() {
    run(|handle| async move {
        for (is_mysql, bytes) in
            [(true, &[1, 0, 0, 1, 9][..]), (false, b"GET / HTTP/1.1\r\n\r\n"), (false, &[0; 9])]
        {
            let address = spawn(&handle, is_mysql);
            let mut connection = Connection::open(&handle, &address).await.unwrap();
            connection.send(bytes).await.unwrap();
            while connection.more().await.is_ok() {}
            assert!(!connection.input().is_empty());
        }
    });
}
