//! Sessions with servers of the tests' own, which do what no real server here can be made to do.

use std::os::unix::net::UnixListener;

use assay_runtime::{Address, Connection, Handle, Listener, sleep_until};
use assay_wire::WireError;
use assay_wire::mysql::bytes::put_string;
use assay_wire::mysql::{Row, Session};
use assay_wire::sql::{Completion, Row as _, Session as _, Type, Value};
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::{Digest, Sha512};

use crate::mysql_twin::{
    OK, PASSWORD, SCRAMBLE, Stream, Twin, greeting, is_sha2_proof, packet, proof, switch, target,
};
use crate::worker::run;

/// Logs in to a twin, over TCP or a Unix socket.
fn log_in(is_unix: bool, twin: impl FnOnce(&mut Twin) + Send + 'static) -> Result<(), WireError> {
    static FOLDERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("assay-twin-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let (address, accept): (_, Box<dyn FnOnce() -> Box<dyn Stream> + Send>) = if is_unix {
        let listener = UnixListener::bind(&path).unwrap();
        (Address::unix(&path), Box::new(move || Box::new(listener.accept().unwrap().0)))
    } else {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        (address, Box::new(move || Box::new(listener.accept().unwrap().0)))
    };
    let server = std::thread::spawn(move || twin(&mut Twin { stream: accept(), number: 0 }));
    let found = std::rc::Rc::new(std::cell::RefCell::new(None));
    let told = std::rc::Rc::clone(&found);
    run(|handle| async move {
        let opened = Session::open(&handle, &target(address)).await;
        *told.borrow_mut() = Some(opened.map(|_| ()));
    });
    server.join().unwrap();
    if is_unix {
        std::fs::remove_file(&path).unwrap();
    }
    found.take().unwrap()
}

#[test]
fn a_password_that_the_server_remembers_is_proved_by_sha2() {
    for is_switched in [false, true] {
        log_in(false, move |twin| {
            let first = if is_switched { "mysql_native_password" } else { "caching_sha2_password" };
            twin.say(&greeting(first));
            let (mut found, method) = proof(&twin.hear());
            assert_eq!(method, first);
            if is_switched {
                twin.say(&switch("caching_sha2_password", &[&SCRAMBLE[..], &[0]].concat()));
                found = twin.hear();
            }
            assert!(is_sha2_proof(&found));
            twin.say(&[1, 3]);
            twin.say(&OK);
        })
        .unwrap();
    }
}

#[test]
fn a_password_that_the_server_does_not_remember_is_told_over_a_unix_socket() {
    log_in(true, |twin| {
        twin.say(&greeting("caching_sha2_password"));
        assert!(is_sha2_proof(&proof(&twin.hear()).0));
        twin.say(&[1, 4]);
        assert_eq!(twin.hear(), [PASSWORD.as_bytes(), &[0]].concat());
        twin.say(&OK);
    })
    .unwrap();
}

/// Verifies as RFC 8032, 5.1.7 does.
fn is_signed(message: &[u8], signature: &[u8]) -> bool {
    let hash = Sha512::digest(PASSWORD);
    let mut bits = [0; 32];
    bits.copy_from_slice(&hash[..32]);
    let public = EdwardsPoint::mul_base_clamped(bits);
    assert_eq!(clamp_integer(bits)[31] & 0xC0, 0x40);
    let (point, scalar) = signature.split_at(32);
    let point = CompressedEdwardsY::from_slice(point).unwrap().decompress().unwrap();
    let scalar = Scalar::from_canonical_bytes(scalar.try_into().unwrap()).unwrap();
    let challenge = Sha512::new()
        .chain_update(&signature[..32])
        .chain_update(public.compress().as_bytes())
        .chain_update(message);
    let challenge = Scalar::from_bytes_mod_order_wide(&challenge.finalize().into());
    EdwardsPoint::mul_base(&scalar) == point + challenge * public
}

#[test]
fn a_user_of_ed25519_signs_the_servers_random_bytes() {
    let nonce: [u8; 32] = std::array::from_fn(|place| place as u8 * 7);
    log_in(false, move |twin| {
        twin.say(&greeting("mysql_native_password"));
        twin.hear();
        twin.say(&switch("client_ed25519", &nonce));
        let signature = twin.hear();
        assert_eq!(signature.len(), 64);
        assert!(is_signed(&nonce, &signature));
        assert!(!is_signed(&nonce[1..], &signature));
        twin.say(&OK);
    })
    .unwrap();
}

#[test]
fn a_clear_password_goes_over_a_unix_socket_only_and_other_methods_are_named() {
    log_in(true, |twin| {
        twin.say(&greeting("mysql_clear_password"));
        assert_eq!(proof(&twin.hear()).1, "mysql_native_password");
        twin.say(&switch("mysql_clear_password", &[]));
        assert_eq!(twin.hear(), [PASSWORD.as_bytes(), &[0]].concat());
        twin.say(&OK);
    })
    .unwrap();
    for (method, why) in [
        ("mysql_clear_password", "over TLS (give sslmode=require) or a Unix socket only"),
        ("dialog", "dialog, which is not built in"),
        ("parsec", "parsec, which is not built in"),
        ("", "mysql_old_password, which is not built in"),
    ] {
        let refused = log_in(false, move |twin| {
            twin.say(&greeting("mysql_native_password"));
            twin.hear();
            let asked = switch(method, &[1; 20]);
            twin.say(if method.is_empty() { &[0xFE] } else { &asked });
            assert_eq!(twin.hear(), b"", "nothing is told");
        });
        let error = refused.unwrap_err();
        assert!(matches!(error, WireError::Login { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_server_that_asks_and_asks_is_left() {
    let error = log_in(false, |twin| {
        twin.say(&greeting("mysql_native_password"));
        while !twin.hear().is_empty() {
            twin.say(&switch("mysql_native_password", SCRAMBLE));
        }
    });
    assert!(error.unwrap_err().to_string().contains("the login is not over"));
}

#[test]
fn what_is_no_server_of_mysql_is_an_error_that_says_so() {
    for (bytes, why) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "closed"),
        (b"\x05\0\0\0\x09abcd", "protocol version 9"),
        (b"\x05\0\0\x07\x0Aabcd", "number 7 where 0 was due"),
        (b"\x05\0\0\0\x0Aabcd", "the greeting ends too early"),
        (b"\x0C\0\0\0\xFF\x10\x04Too many.", "the server says 1040: Too many."),
    ] {
        let error = log_in(false, move |twin| twin.stream.write_all(bytes).unwrap()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

fn definition(kind: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for name in ["def", "d", "t", "t", "c", "c"] {
        put_string(&mut out, name.as_bytes());
    }
    out.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
    out
}

/// Sends packets one byte at a time, and lets the client look after each.
async fn drip(connection: &mut Connection, handle: &Handle, payloads: &[Vec<u8>], first: u8) {
    for (place, payload) in payloads.iter().enumerate() {
        for byte in packet(payload, first + place as u8) {
            connection.send(&[byte]).await.unwrap();
            sleep_until(handle, handle.clock().ticks() + 1).await;
        }
    }
}

/// Waits for one packet of a client.
async fn hear(connection: &mut Connection) -> Vec<u8> {
    loop {
        let input = connection.input();
        if let Some(&[a, b, c, _]) = input.first_chunk() {
            let length = u32::from_le_bytes([a, b, c, 0]) as usize + 4;
            if let Some(found) = input.get(4..length) {
                let found = found.to_vec();
                connection.consume(length);
                return found;
            }
        }
        connection.more().await.unwrap();
    }
}

#[test]
fn a_server_that_sends_byte_by_byte_is_understood() {
    run(|handle| async move {
        let listener = Listener::bind(&handle, ([127, 0, 0, 1], 0).into()).unwrap();
        let address = Address::Tcp(listener.address().unwrap());
        let serving = handle.clone();
        handle.spawn(async move {
            let mut client = listener.accept().await.unwrap();
            drip(&mut client, &serving, &[greeting("mysql_native_password")], 0).await;
            hear(&mut client).await;
            drip(&mut client, &serving, &[OK.to_vec()], 2).await;
            assert_eq!(hear(&mut client).await, b"\x16SELECT ?");
            let head = vec![0, 5, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0];
            let told = [head, definition(8), definition(8), definition(253)];
            drip(&mut client, &serving, &told, 1).await;
            // Types are told until an execution has worked.
            assert_eq!(hear(&mut client).await[11], 1);
            drip(&mut client, &serving, &[b"\xFF\xBD\x04#40001Dead.".to_vec()], 1).await;
            for turn in 0..3_u8 {
                let heard = hear(&mut client).await;
                assert_eq!(heard[..5], [0x17, 5, 0, 0, 0]);
                assert_eq!(heard[11], u8::from(turn == 0));
                let row = vec![0, 0, turn, 0, 0, 0, 0, 0, 0, 0, 2, b'o', b'k'];
                let end = vec![0xFE, 0, 0, 2, 0, 0, 0];
                let rows = [vec![2], definition(8), definition(253), row.clone(), row, end];
                drip(&mut client, &serving, &rows, 1).await;
            }
            assert_eq!(hear(&mut client).await, b"\x03two");
            let more = vec![0, 4, 0, 10, 0, 0, 0];
            drip(&mut client, &serving, &[more, OK.to_vec()], 1).await;
            assert_eq!(hear(&mut client).await, b"\x01", "goodbye");
        });
        let mut session = Session::open(&handle, &target(address)).await.unwrap();
        assert_eq!((session.version(), session.number()), ("9.1.0-twin", 77));
        let statement = session.prepare("SELECT ?", &[Type::Int]).await.unwrap();
        let error = session.run(statement, &[Value::Int(9)], |_| Ok(())).await.unwrap_err();
        assert_eq!(error.to_string(), "the server says 1213: Dead.");
        for turn in 0..3 {
            let mut seen = 0;
            let visit = |row: &Row<'_>| {
                assert_eq!((row.int(0)?, row.text(1)?), (Some(turn), Some(&b"ok"[..])));
                seen += 1;
                Ok(())
            };
            let done = session.run(statement, &[Value::Int(9)], visit).await.unwrap();
            assert_eq!((seen, done), (2, Completion { rows: 2, affected: 0 }));
        }
        assert_eq!(session.batch("two").await.unwrap().affected, 4);
        session.close().await;
    });
}
