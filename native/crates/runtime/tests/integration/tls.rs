//! TLS with servers that rustls' other half, or nobody, speaks it for.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use assay_primitives::Clock;
use assay_runtime::{
    Address, Connection, Handle, Listener, Proof, RuntimeError, TlsConfig, Worker, deadline,
    sleep_until,
};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::{Authority, Signed};

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// Runs a task, half a minute at most.
fn run(task: impl AsyncFnOnce(Handle)) {
    let worker = Worker::new(Clock::calibrated()).unwrap();
    let (handle, clock) = (worker.handle(), worker.handle().clock());
    let end = clock.ticks() + clock.ticks_of_ns(30_000_000_000);
    let task = deadline(&handle, end, task(handle.clone()));
    let ended = worker.block_on(task, &AtomicBool::new(false)).unwrap();
    assert_eq!(ended, Some(Ok(())), "the task did not end");
}

fn listening(act: impl FnOnce(TcpStream) + Send + 'static) -> (Address, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let act = move || {
        let stream = listener.accept().unwrap().0;
        stream.set_nodelay(true).unwrap();
        act(stream);
    };
    (address, std::thread::spawn(act))
}

/// A server for one connection with a certificate.
fn serve(signed: &Signed, act: impl FnOnce(Stream) + Send + 'static) -> (Address, JoinHandle<()>) {
    let signed = signed.clone();
    listening(move |stream| act(signed.serve(stream)))
}

/// Sends back whatever comes, until the client says goodbye.
fn echo(mut stream: Stream) {
    let mut buffer = [0; 50_000];
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return,
            bytes => stream.write_all(&buffer[..bytes]).unwrap(),
        }
    }
}

/// A server that a client may well refuse.
fn refused(mut stream: Stream) {
    let _ = stream.read(&mut [0]);
}

async fn receive(connection: &mut Connection, bytes: usize) -> Vec<u8> {
    while connection.input().len() < bytes {
        connection.more().await.unwrap();
    }
    let received = connection.input()[..bytes].to_vec();
    connection.consume(bytes);
    received
}

async fn open(
    handle: &Handle,
    address: &Address,
    config: &TlsConfig,
    host: &str,
) -> Result<Connection, RuntimeError> {
    let mut connection = Connection::open(handle, address).await?;
    connection.start_tls(config, host).await?;
    Ok(connection)
}

fn trusting(authority: &Authority) -> TlsConfig {
    TlsConfig::new(Proof::Name, Some(&authority.file())).unwrap()
}

#[test]
fn what_is_sent_comes_back_over_both_versions_however_large_it_is() {
    let authority = Authority::new();
    let signed = authority.sign(&["db.example"], 2999);
    for (version, name) in
        [(&rustls::version::TLS12, "TLSv1.2 TLS_ECDHE"), (&rustls::version::TLS13, "TLSv1.3 TLS_")]
    {
        let server = signed.config(&[version]);
        let (address, thread) = listening(move |stream| {
            echo(Stream::new(ServerConnection::new(server).unwrap(), stream));
        });
        let trust = trusting(&authority);
        assert_eq!(trust.agreed(), None);
        run(async |handle| {
            let mut connection = open(&handle, &address, &trust, "db.example").await.unwrap();
            assert!(connection.is_encrypted());
            let message: Vec<u8> = (0..3_000_000_u32).map(|place| (place * 7 / 5) as u8).collect();
            for length in [1, 2, 16_383, 16_384, 16_385, 32_511, 32_512, 32_513, 100_000] {
                connection.send(&message[..length]).await.unwrap();
                assert!(receive(&mut connection, length).await == message[..length], "{length}");
            }
            for part in message.chunks(100_000) {
                connection.send(part).await.unwrap();
                assert!(receive(&mut connection, part.len()).await == part);
            }
            assert!(connection.input().is_empty());
            assert!(connection.traffic().sent > 3_000_000 + 200 * 20, "records have heads");
        });
        assert!(trust.agreed().unwrap().starts_with(name), "{:?}", trust.agreed());
        // The server has heard a goodbye: its last read was no error.
        thread.join().unwrap();
    }
}

/// What a client says to a certificate for `db.example`, as `host`.
fn verdict(
    signed: &Signed,
    proof: Proof,
    authorities: &Authority,
    host: &str,
) -> Result<(), RuntimeError> {
    let (address, thread) = serve(signed, refused);
    let trust = TlsConfig::new(proof, Some(&authorities.file())).unwrap();
    let mut found = None;
    run(async |handle| {
        found = Some(open(&handle, &address, &trust, host).await.map(|_| ()));
    });
    thread.join().unwrap();
    found.unwrap()
}

#[test]
fn a_certificate_is_trusted_as_far_as_was_asked() {
    let (own, other) = (Authority::new(), Authority::new());
    let (good, old) =
        (own.sign(&["db.example", "127.0.0.1"], 2999), own.sign(&["db.example"], 2001));
    for (signed, proof, authority, host, why) in [
        (&good, Proof::Name, &own, "db.example", None),
        (&good, Proof::Name, &own, "127.0.0.1", None),
        (&good, Proof::Name, &own, "db2.example", Some("not valid for name \"db2.example\"")),
        (&good, Proof::Name, &own, "127.0.0.2", Some("not valid for name \"127.0.0.2\"")),
        (&good, Proof::Name, &other, "db.example", Some("none of the trusted authorities")),
        (&old, Proof::Name, &own, "db.example", Some("certificate expired")),
        (&own.own, Proof::Name, &own, "db.example", Some("an authority itself (CA:TRUE)")),
        (&good, Proof::Authority, &own, "db2.example", None),
        (&good, Proof::Authority, &other, "db.example", Some("sslrootcert=FILE")),
        (&old, Proof::Authority, &own, "db.example", Some("; next: renew it")),
        (&good, Proof::Nothing, &other, "db2.example", None),
        (&old, Proof::Nothing, &other, "db2.example", None),
    ] {
        let (found, case) = (verdict(signed, proof, authority, host), (proof, host, why));
        match (found, why) {
            (Ok(()), None) => {}
            (Err(error @ RuntimeError::Untrusted { .. }), Some(why)) => {
                let told = error.to_string();
                assert!(told.starts_with(&format!("the certificate of {host} is not trusted: ")));
                assert!(told.contains(why) && told.contains("; next: "), "{told}");
            }
            (found, _) => panic!("{case:?}: {found:?}"),
        }
    }
}

#[test]
fn the_server_is_told_why_its_certificate_was_refused() {
    let (own, other) = (Authority::new(), Authority::new());
    let (address, thread) = serve(&own.sign(&["db.example"], 2999), |mut stream| {
        let told = stream.read(&mut [0]).unwrap_err().to_string();
        assert!(told.contains("received fatal alert"), "{told}");
    });
    run(async |handle| {
        assert!(open(&handle, &address, &trusting(&other), "db.example").await.is_err());
    });
    thread.join().unwrap();
}

/// A server of the same worker that echoes, sends single bytes and lets the client look after each;
/// it inverts the bits of one byte of its stream, and closes when it hears nothing for a while.
async fn drip(handle: Handle, mut peer: Connection, config: Arc<ServerConfig>, spoilt: usize) {
    let (mut server, mut said) = (ServerConnection::new(config).unwrap(), 0);
    loop {
        let mut out = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut out).unwrap();
        }
        for byte in out {
            let byte = if said == spoilt { !byte } else { byte };
            said += 1;
            if peer.send(&[byte]).await.is_err() {
                return;
            }
            sleep_until(&handle, handle.clock().ticks() + 1).await;
        }
        let patience_ms = if said > spoilt { 20 } else { 10_000 };
        let end = handle.clock().ticks() + handle.clock().ticks_of_ns(patience_ms * 1_000_000);
        if !matches!(deadline(&handle, end, peer.more()).await, Ok(Ok(()))) {
            return;
        }
        let mut input = peer.input();
        let bytes = server.read_tls(&mut input).unwrap();
        peer.consume(bytes);
        let Ok(state) = server.process_new_packets() else { return };
        let mut heard = vec![0; state.plaintext_bytes_to_read()];
        server.reader().read_exact(&mut heard).unwrap();
        server.writer().write_all(&heard).unwrap();
    }
}

/// Asks a server that drips for an echo.
async fn slow_echo(
    handle: &Handle,
    config: &Arc<ServerConfig>,
    trust: &TlsConfig,
    spoilt: usize,
) -> Result<Vec<u8>, RuntimeError> {
    let listener = Listener::bind(handle, ([127, 0, 0, 1], 0).into()).unwrap();
    let address = Address::Tcp(listener.address().unwrap());
    let (serving, config) = (handle.clone(), Arc::clone(config));
    handle.spawn(async move {
        let peer = listener.accept().await.unwrap();
        drip(serving, peer, config, spoilt).await;
    });
    let mut connection = open(handle, &address, trust, "db.example").await?;
    connection.send(b"a question of 25 letters.").await?;
    while connection.input().len() < 25 {
        connection.more().await?;
    }
    Ok(connection.input().to_vec())
}

#[test]
fn a_stream_that_comes_in_single_bytes_is_the_same_stream() {
    let authority = Authority::new();
    let signed = authority.sign(&["db.example"], 2999);
    let trust = trusting(&authority);
    run(async |handle| {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let server = signed.config(&[version]);
            let heard = slow_echo(&handle, &server, &trust, usize::MAX).await.unwrap();
            assert_eq!(heard, b"a question of 25 letters.");
        }
    });
}

#[test]
fn a_stream_with_one_byte_spoilt_gives_an_error_or_what_was_said() {
    let authority = Authority::new();
    let server = authority.sign(&["db.example"], 2999).config(rustls::ALL_VERSIONS);
    let trust = trusting(&authority);
    run(async |handle| {
        let mut errors = 0;
        // Some thousand bytes are said; from the end of them on nothing is spoilt.
        for place in (0..3000).step_by(23) {
            match slow_echo(&handle, &server, &trust, place).await {
                Ok(heard) => assert_eq!(heard, b"a question of 25 letters."),
                Err(
                    RuntimeError::Tls { .. }
                    | RuntimeError::Untrusted { .. }
                    | RuntimeError::Closed,
                ) => errors += 1,
                Err(error) => panic!("{place}: {error}"),
            }
        }
        assert!(errors > 20, "{errors}");
    });
}

#[test]
fn who_closes_after_a_goodbye_has_said_all_and_who_closes_without_may_have_been_cut_off() {
    let authority = Authority::new();
    let signed = authority.sign(&["db.example"], 2999);
    for is_polite in [true, false] {
        let (address, thread) = serve(&signed, move |mut stream| {
            stream.write_all(b"last words").unwrap();
            if is_polite {
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                // The socket stays open: the goodbye alone has to end the reading.
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            } else {
                stream.sock.shutdown(std::net::Shutdown::Write).unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            }
        });
        run(async |handle| {
            let mut connection =
                open(&handle, &address, &trusting(&authority), "db.example").await.unwrap();
            assert_eq!(receive(&mut connection, 10).await, b"last words");
            for _ in 0..3 {
                assert!(matches!(connection.more().await, Err(RuntimeError::Closed)));
            }
            assert_eq!(connection.is_cut_off(), !is_polite);
        });
        thread.join().unwrap();
    }
}

#[test]
fn a_peer_that_speaks_no_tls_or_closes_is_named() {
    for (answer, why) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "does the server speak TLS on this port?"),
        (b"", "the server closed the connection"),
        (b"\x15\x03\x03\0\x02\x02\x28", "alert: HandshakeFailure"),
    ] {
        let (address, thread) = listening(|mut stream| {
            let _ = stream.read(&mut [0; 10_000]);
            stream.write_all(answer).unwrap();
        });
        run(async |handle| {
            let trust = TlsConfig::new(Proof::Nothing, None).unwrap();
            let error = open(&handle, &address, &trust, "db.example").await.err().unwrap();
            let told = error.to_string();
            assert!(
                told.starts_with("TLS with db.example failed: ") && told.contains(why),
                "{told}"
            );
        });
        thread.join().unwrap();
    }
}

#[test]
fn tls_may_begin_in_the_middle_and_never_takes_what_came_before_it() {
    let authority = Authority::new();
    let server = authority.sign(&["db.example"], 2999).config(rustls::ALL_VERSIONS);
    for greeting in [&b"go on"[..], b"go on with more"] {
        let server = Arc::clone(&server);
        let (address, thread) = listening(move |mut stream| {
            stream.write_all(greeting).unwrap();
            let mut stream = Stream::new(ServerConnection::new(server).unwrap(), stream);
            let _ = stream.write_all(b"sealed");
            let _ = stream.read(&mut [0]);
        });
        run(async |handle| {
            let mut connection = Connection::open(&handle, &address).await.unwrap();
            assert_eq!(receive(&mut connection, 5).await, b"go on");
            assert!(!connection.is_encrypted());
            let begun = connection.start_tls(&trusting(&authority), "db.example").await;
            if greeting.len() == 5 {
                begun.unwrap();
                assert_eq!(receive(&mut connection, 6).await, b"sealed");
            } else {
                let told = begun.unwrap_err().to_string();
                assert!(told.contains("before the handshake"), "{told}");
            }
        });
        thread.join().unwrap();
    }
}

#[test]
fn a_server_may_change_its_keys_and_ask_for_others() {
    let authority = Authority::new();
    let (address, thread) = serve(&authority.sign(&["db.example"], 2999), |mut stream| {
        let mut heard = [0; 4];
        for _ in 0..3 {
            stream.read_exact(&mut heard).unwrap();
            stream.conn.refresh_traffic_keys().unwrap();
            stream.write_all(&heard).unwrap();
        }
        assert_eq!(stream.read(&mut heard).unwrap(), 0);
    });
    run(async |handle| {
        let mut connection =
            open(&handle, &address, &trusting(&authority), "db.example").await.unwrap();
        for word in [b"one.", b"two.", b"more"] {
            connection.send(word).await.unwrap();
            assert_eq!(receive(&mut connection, 4).await, word);
        }
    });
    thread.join().unwrap();
}

#[test]
fn authorities_that_cannot_be_read_and_names_that_are_none_are_told() {
    let authority = Authority::new();
    let path = authority.folder().join("nothing.pem");
    for text in [None, Some("no certificate"), Some("-----BEGIN CERTIFICATE-----\nAAAA\n")] {
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let told = TlsConfig::new(Proof::Name, Some(&path)).unwrap_err().to_string();
        assert!(told.contains("nothing.pem: ") && told.contains("sslrootcert=FILE"), "{told}");
    }
    let (address, thread) = listening(|mut stream| {
        assert!(matches!(stream.read(&mut [0]), Ok(0)), "nothing is said");
    });
    run(async |handle| {
        let error = open(&handle, &address, &trusting(&authority), "no name").await.err().unwrap();
        assert!(error.to_string().contains("TLS with no name failed"), "{error}");
    });
    thread.join().unwrap();
}
