//! nginx over TLS, which is spoken from the start. Needs Debian's `nginx-light`.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use assay_runtime::{Address, RuntimeError};
use assay_wire::WireError;
use assay_wire::http::{HttpTarget, Session};

use crate::authority::Authority;
use crate::nginx_server::NginxServer;
use crate::tls::{agreed, believed, checked};
use crate::worker::run;

#[test]
fn a_server_that_speaks_no_tls_is_named() {
    let server = NginxServer::start(512, "");
    run(|handle| async move {
        let target = HttpTarget::new(server.address(), "localhost", "/file").unwrap();
        let target = target.with_tls(believed(false));
        let told = Session::open(&handle, &target).await.err().unwrap().to_string();
        assert!(told.starts_with("TLS with localhost failed: "), "{told}");
        assert!(told.contains("does the server speak TLS on this port?"), "{told}");
    });
}

#[test]
fn files_of_nginx_are_got_over_tls_again_and_again() {
    let authority = Authority::new();
    for bytes in [0, 512, 10_000_000] {
        let server = NginxServer::start_tls(bytes, authority.files());
        run(async |handle| {
            let target = HttpTarget::new(server.address(), "localhost", "/file").unwrap();
            let tls = checked(&authority, "localhost");
            let target = target.with_tls(tls.clone());
            let mut session = Session::open(&handle, &target).await.unwrap();
            assert!(agreed(&tls).is_some());
            for _ in 0..5 {
                let mut body = Vec::new();
                let answer = session.get_with(|piece| body.extend_from_slice(piece)).await.unwrap();
                assert_eq!(answer.body_bytes, bytes as u64);
                assert!(body == vec![b'n'; bytes]);
            }
            assert!(session.traffic().received > 5 * bytes as u64);
            let target = target.with_tls(checked(&Authority::new(), "localhost"));
            let told = Session::open(&handle, &target).await.err().unwrap().to_string();
            assert!(told.contains("is not trusted"), "{told}");
        });
    }
}

/// A server for one connection, without a length: the body ends where the connection does.
fn serve_until_the_end(authority: &Authority, is_polite: bool) -> (Address, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let signed = authority.sign(&["localhost"], 2999);
    let thread = std::thread::spawn(move || {
        let mut stream = signed.serve(listener.accept().unwrap().0);
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf of it").unwrap();
        if is_polite {
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        }
    });
    (address, thread)
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_only_after_a_goodbye() {
    let authority = Authority::new();
    for is_polite in [true, false] {
        let (address, thread) = serve_until_the_end(&authority, is_polite);
        run(async |handle| {
            let target = HttpTarget::new(address, "localhost", "/").unwrap();
            let target = target.with_tls(checked(&authority, "localhost"));
            let mut session = Session::open(&handle, &target).await.unwrap();
            match session.get().await {
                Ok(answer) => assert_eq!((is_polite, answer.body_bytes), (true, 10)),
                Err(error) => {
                    assert!(!is_polite, "{error}");
                    assert!(matches!(error, WireError::Runtime(RuntimeError::Closed)), "{error}");
                }
            }
        });
        thread.join().unwrap();
    }
}
