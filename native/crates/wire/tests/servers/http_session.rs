//! Sessions with a real nginx, and with servers that answer in rarer ways.

use assay_runtime::{Address, Connection, Handle, RuntimeError};
use assay_wire::WireError;
use assay_wire::http::{Answer, HttpTarget, Session};

use crate::nginx_server::NginxServer;
use crate::worker::{run, scripted};

async fn session(handle: &Handle, address: Address, path: &str) -> Session {
    let target = HttpTarget::new(address, "localhost", path).unwrap();
    Session::open(handle, &target).await.unwrap()
}

fn code(result: Result<Answer, WireError>) -> String {
    match result {
        Err(WireError::Server { code, message, .. }) => format!("{code} {message}"),
        other => panic!("an error of the server was expected: {other:?}"),
    }
}

#[test]
fn a_file_of_nginx_is_got_again_and_again_over_one_connection() {
    run(|handle| async move {
        let server = NginxServer::start(512, "");
        let mut session = session(&handle, server.address(), "/file").await;
        let expected = Answer { status: 200, body_bytes: 512, stays_open: true };
        for _ in 0..500 {
            assert_eq!(session.get().await.unwrap(), expected);
        }
        let mut body = Vec::new();
        session.get_with(|piece| body.extend_from_slice(piece)).await.unwrap();
        assert!(body == [b'n'; 512]);
    });
}

#[test]
fn a_file_larger_than_all_buffers_is_counted_to_the_byte() {
    run(|handle| async move {
        let server = NginxServer::start(10_000_000, "");
        let mut session = session(&handle, server.address(), "/file").await;
        for _ in 0..3 {
            assert_eq!(session.get().await.unwrap().body_bytes, 10_000_000);
        }
    });
}

#[test]
fn a_missing_file_is_an_error_of_the_server_and_the_session_goes_on() {
    run(|handle| async move {
        let server = NginxServer::start(512, "");
        let mut session = session(&handle, server.address(), "/nothing").await;
        for _ in 0..3 {
            assert_eq!(code(session.get().await), "404 Not Found");
            assert!(session.is_open());
        }
    });
}

#[test]
fn the_last_answer_of_a_connection_says_so() {
    run(|handle| async move {
        let server = NginxServer::start(512, "keepalive_requests 3;");
        let mut session = session(&handle, server.address(), "/file").await;
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(session.get().await.unwrap().stays_open);
        }
        assert_eq!(open, [true, true, false]);
        assert!(!session.is_open());
        let error = session.get().await.err().unwrap();
        assert!(matches!(error, WireError::Runtime(RuntimeError::Closed)), "{error}");
    });
}

#[test]
fn answers_in_chunks_until_close_and_after_announcements_are_read() {
    run(|handle| async move {
        let chunked = scripted(&handle, &[
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        ]);
        let mut session = session(&handle, chunked, "/").await;
        let mut answers = Vec::new();
        for _ in 0..3 {
            let answer = session.get().await.unwrap();
            answers.push((answer.status, answer.body_bytes, answer.stays_open));
        }
        assert_eq!(answers, [(200, 3, true), (200, 1, true), (200, 13, false)]);
    });
}

#[test]
fn a_connection_that_ends_within_an_answer_or_says_more_than_was_asked_is_an_error() {
    run(|handle| async move {
        let ending = scripted(&handle, &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]);
        let mut first = session(&handle, ending, "/").await;
        assert!(matches!(first.get().await, Err(WireError::Runtime(RuntimeError::Closed))));
        assert!(!first.is_open());

        let twice = b"HTTP/1.1 204 A\r\n\r\nHTTP/1.1 204 B\r\n\r\n";
        let chatty = scripted(&handle, &[twice, b""]);
        let mut second = session(&handle, chatty, "/").await;
        second.get().await.unwrap();
        assert!(matches!(second.get().await, Err(WireError::Protocol { .. })));

        let switching = scripted(&handle, &[b"HTTP/1.1 101 Switching Protocols\r\n\r\n"]);
        let mut third = session(&handle, switching, "/").await;
        assert!(matches!(third.get().await, Err(WireError::Protocol { .. })));
    });
}

#[test]
fn a_request_is_what_the_server_needs_and_no_more() {
    run(|handle| async move {
        let (listener, address) = crate::worker::listen(&handle);
        let target = HttpTarget::new(address.clone(), "example.org:80", "/a?b=c").unwrap();
        let mut client = Connection::open(&handle, &address).await.unwrap();
        let mut server = listener.accept().await.unwrap();
        client.send(&target.request()).await.unwrap();
        server.more().await.unwrap();
        assert_eq!(server.input(), b"GET /a?b=c HTTP/1.1\r\nHost: example.org:80\r\n\r\n");
    });
}

#[test]
fn a_target_that_no_request_can_name_is_refused() {
    let address = || Address::tcp("127.0.0.1", 1).unwrap();
    for path in ["", "file", "/a b", "/a\r\nX: y", "/\u{e4}"] {
        assert!(HttpTarget::new(address(), "host", path).is_err(), "{path:?}");
    }
    for host in ["", "a b", "a\r\nb"] {
        assert!(HttpTarget::new(address(), host, "/").is_err(), "{host:?}");
    }
}
