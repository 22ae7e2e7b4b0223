//! Sessions with a server of our own that says what no real one would, or says it slowly.

use std::net::Ipv4Addr;

use assay_runtime::{Address, Connection, Handle, Listener, Proof, RuntimeError, TlsConfig};
use assay_wire::postgres::{Row, Session, TransactionState};
use assay_wire::sql::{Completion, Row as _, Session as _, Type, Value};
use assay_wire::{Target, Tls, WireError};

use crate::postgres_messages as server;
use crate::worker::run;

/// A server that reads a request and sends the next answer, byte by byte, and closes after the last
/// one. The login is a request too.
fn serve(handle: &Handle, answers: Vec<Vec<u8>>) -> Target {
    let listener = Listener::bind(handle, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = Address::Tcp(listener.address().unwrap());
    handle.spawn(async move {
        let mut connection = listener.accept().await.unwrap();
        for (turn, answer) in answers.iter().enumerate() {
            if !read_request(&mut connection, turn == 0).await {
                return;
            }
            for byte in answer {
                // The client may have had enough.
                if connection.send(&[*byte]).await.is_err() {
                    return;
                }
            }
        }
    });
    let (user, database) = ("me".to_owned(), String::new());
    Target { address, user, password: Some("pencil".to_owned()), database, tls: None }
}

/// Reads messages up to the one that waits for an answer; false if there is none any more.
async fn read_request(connection: &mut Connection, is_first: bool) -> bool {
    loop {
        let input = connection.input();
        let (kind, rest) = match input.split_first() {
            Some((kind, rest)) if !is_first => (*kind, rest),
            _ => (b'p', input),
        };
        if let Some(length) = rest.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes)) {
            let bytes = length as usize + usize::from(!is_first);
            if input.len() >= bytes {
                connection.consume(bytes);
                if matches!(kind, b'p' | b'Q' | b'S' | b'H' | b'c' | b'f') {
                    return true;
                }
                continue;
            }
        }
        if connection.more().await.is_err() {
            return false;
        }
    }
}

async fn open(handle: &Handle, answers: Vec<Vec<u8>>) -> Result<Session, WireError> {
    Session::open(handle, &serve(handle, answers)).await
}

/// The words of a login that fails.
async fn refusal(handle: &Handle, answers: Vec<Vec<u8>>) -> String {
    open(handle, answers).await.err().unwrap().to_string()
}

/// What a server says to Parse and Describe of a statement with an integer and a text.
fn described() -> Vec<u8> {
    [
        server::message(b'1', b""),
        server::message(b't', &[0, 1, 0, 0, 0, 20]),
        server::row_description(&[("n", 20), ("t", 25)]),
        server::ready(b'I'),
    ]
    .concat()
}

#[test]
fn a_session_with_a_server_that_sends_single_bytes_is_like_any_other() {
    run(|handle| async move {
        let notice = server::report(b'N', &[(b'M', "by the way")]);
        let answer = [
            server::message(b'2', b""),
            notice.clone(),
            server::data_row(&[Some(&5_i64.to_be_bytes()), Some(b"five")]),
            server::message(b'S', b"a\0b\0"),
            server::data_row(&[None, None]),
            server::message(b'A', b"\0\0\0\x07channel\0payload\0"),
            server::complete("SELECT 2"),
            server::ready(b'T'),
        ];
        let login = [notice, server::welcome()].concat();
        let answers = vec![login, described(), answer.concat(), answer.concat()];
        let mut session = open(&handle, answers).await.unwrap();
        let statement = session.prepare("SELECT n, t FROM x WHERE n > ?", &[Type::Int]).await;
        let statement = statement.unwrap();
        let values = [Value::Int(4)];
        let mut seen = Vec::new();
        let visit = |row: &Row<'_>| {
            seen.push((row.int(0)?, row.text(1)?.map(<[u8]>::to_vec)));
            Ok(())
        };
        let done = session.run(statement, &values, visit).await.unwrap();
        assert_eq!(done, Completion { rows: 2, affected: 0 });
        assert_eq!(seen, [(Some(5), Some(b"five".to_vec())), (None, None)]);
        assert_eq!(session.transaction_state(), TransactionState::InTransaction);
        let requests = [(statement, &values[..])];
        assert_eq!(session.pipeline(&requests, |_, _| Ok(())).await.unwrap()[0].rows, 2);
    });
}

#[test]
fn authentication_that_is_not_built_in_is_named() {
    run(|handle| async move {
        for (kind, data, word) in [
            (2, &b""[..], "Kerberos 5"),
            (6, b"", "SCM"),
            (7, b"", "GSSAPI"),
            (9, b"", "SSPI"),
            (10, b"OAUTHBEARER\0\0", "SASL by OAUTHBEARER, and only SCRAM-SHA-256"),
            (99, b"", "number 99"),
        ] {
            let told = refusal(&handle, vec![server::authentication(kind, data)]).await;
            assert!(told.starts_with("cannot log in as \"me\""), "{told}");
            assert!(told.contains(word), "{told}");
        }
    });
}

#[test]
fn a_server_that_does_not_prove_that_it_knows_the_password_is_refused() {
    run(|handle| async move {
        let start = server::authentication(10, b"SCRAM-SHA-256\0\0");
        let told = refusal(&handle, vec![start.clone(), server::welcome()]).await;
        assert!(told.contains("skipped the proof"), "{told}");
        let replayed = server::authentication(11, b"r=somebody's,s=QQ==,i=4096");
        let told = refusal(&handle, vec![start, replayed]).await;
        assert!(told.contains("a nonce that does not begin with ours"), "{told}");
        let early = server::authentication(11, b"r=x,s=QQ==,i=1");
        let told = refusal(&handle, vec![early]).await;
        assert!(told.contains("before SASL began"), "{told}");
    });
}

#[test]
fn a_peer_that_is_no_postgresql_server_is_told_apart() {
    run(|handle| async move {
        for greeting in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"-ERR unknown command\r\n"] {
            let told = refusal(&handle, vec![greeting.to_vec()]).await;
            assert!(told.contains("is this a PostgreSQL server?"), "{told}");
        }
        let large = server::message(b'S', &[b'x'; 300_000]);
        let told = refusal(&handle, vec![large]).await;
        assert!(told.contains("too large"), "{told}");
        let told = refusal(&handle, vec![server::message(b'v', &[0; 8])]).await;
        assert!(told.contains("version 3.0"), "{told}");
        let told = refusal(&handle, vec![b"R\0\0".to_vec()]).await;
        assert!(told.contains("closed the connection"), "{told}");
    });
}

#[test]
fn a_server_that_closes_in_the_middle_of_an_answer_is_an_error() {
    run(|handle| async move {
        let row = server::data_row(&[Some(&5_i64.to_be_bytes()), None]);
        let begun = [server::message(b'2', b""), row].concat();
        for length in 0..begun.len() {
            let answers = vec![server::welcome(), described(), begun[..length].to_vec()];
            let mut session = open(&handle, answers).await.unwrap();
            let statement = session.prepare("SELECT ?, ''", &[Type::Int]).await.unwrap();
            let error = session.run(statement, &[Value::Int(5)], |_| Ok(())).await.unwrap_err();
            assert!(matches!(error, WireError::Runtime(RuntimeError::Closed)), "{error}");
        }
    });
}

#[test]
fn an_answer_that_fits_no_request_ends_the_session() {
    run(|handle| async move {
        let wide = server::data_row(&[None, None, None]);
        let ready = server::ready(b'I');
        for (answer, word) in [
            (wide, "a row of 3 columns where 2 were described"),
            (server::message(b'1', b""), "a ParseComplete message in answer to Execute"),
            (server::message(b'G', &[0, 0, 0]), "a CopyIn message"),
            (ready, "without a completion"),
        ] {
            let answers = vec![server::welcome(), described(), answer];
            let mut session = open(&handle, answers).await.unwrap();
            let statement = session.prepare("SELECT ?, ''", &[Type::Int]).await.unwrap();
            let error = session.run(statement, &[Value::Int(5)], |_| Ok(())).await.unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert!(matches!(error, WireError::Protocol { .. }));
        }
    });
}

#[test]
fn who_wants_tls_does_not_log_in_without_whatever_the_server_answers() {
    run(|handle| async move {
        for (answer, is_optional, why) in [
            (&b"Eno more processes\n\0"[..], false, "request for TLS: no more processes"),
            (b"Eno more processes\n\0", true, "request for TLS: no more processes"),
            (b"HTTP/1.1 400 Bad Request\r\n", false, "is this a PostgreSQL server?"),
            (b"N", false, "the server has none"),
            (b"S\x15", false, "TLS with localhost failed"),
        ] {
            let mut answers = vec![answer.to_vec()];
            // Who has said that it speaks TLS is not asked to log in, and waits for nothing.
            if answer[0] != b'S' {
                answers.push(server::welcome());
            }
            let target = serve(&handle, answers);
            let config = TlsConfig::new(Proof::Nothing, None).unwrap();
            let tls = Some(Tls { config, host: "localhost".to_owned(), is_optional });
            let told = Session::open(&handle, &Target { tls, ..target }).await.err().unwrap();
            assert!(told.to_string().contains(why), "{told}");
        }
    });
}

/// More rows than were asked for cannot be told apart from the next request's.
#[test]
fn a_pipeline_takes_no_more_answers_than_it_has_requests() {
    run(|handle| async move {
        let once = [server::message(b'2', b""), server::complete("SELECT 0")].concat();
        let answer = [once.clone(), once, server::ready(b'I')].concat();
        let answers = vec![server::welcome(), described(), answer];
        let mut session = open(&handle, answers).await.unwrap();
        let statement = session.prepare("SELECT ?, ''", &[Type::Int]).await.unwrap();
        let values = [Value::Int(5)];
        let error = session.pipeline(&[(statement, &values[..])], |_, _| Ok(())).await;
        let error = error.unwrap_err();
        assert!(error.to_string().contains("a BindComplete message in answer to Sync"), "{error}");
    });
}
