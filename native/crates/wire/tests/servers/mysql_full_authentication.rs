//! `caching_sha2_password` when the server does not remember the password, with servers of the
//! tests' own that do as MySQL 8 does.

use std::cell::RefCell;
use std::rc::Rc;

use assay_runtime::Address;
use assay_wire::mysql::Session;
use assay_wire::mysql::public_key::sealed;
use assay_wire::{Target, Tls, WireError};
use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine as _;

use crate::authority::{Authority, Signed};
use crate::mysql_twin::{
    OK, PASSWORD, SCRAMBLE, Twin, greeting, is_sha2_proof, packet, proof, switch, target,
};
use crate::tls::{agreed, believed, checked};
use crate::worker::run;

/// A server's pair of keys.
struct Keys(OaepPrivateDecryptingKey, Vec<u8>);

impl Keys {
    fn new() -> Self {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
        let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        let pem =
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
        Self(OaepPrivateDecryptingKey::new(key).unwrap(), pem.into_bytes())
    }

    /// What a server does with an encrypted password.
    fn opened(&self, sealed: &[u8], scramble: &[u8]) -> Vec<u8> {
        let mut out = vec![0; self.0.min_output_size()];
        let plain = self.0.decrypt(&OAEP_SHA1_MGF1SHA1, sealed, &mut out, None).unwrap();
        plain.iter().enumerate().map(|(at, byte)| byte ^ scramble[at % 20]).collect()
    }
}

/// Logs in over TCP to a twin.
fn log_in(
    tls: Option<Tls>,
    twin: impl FnOnce(&mut Twin) + Send + 'static,
) -> Result<(), WireError> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        twin(&mut Twin { stream: Box::new(listener.accept().unwrap().0), number: 0 });
    });
    let found = Rc::new(RefCell::new(None));
    let told = Rc::clone(&found);
    run(|handle| async move {
        let opened = Session::open(&handle, &Target { tls, ..target(address) }).await;
        *told.borrow_mut() = Some(opened.map(|_| ()));
    });
    server.join().unwrap();
    found.take().unwrap()
}

/// Greets as a server with TLS, and speaks it when asked for it.
fn greet_over_tls(twin: &mut Twin, method: &str, signed: &Signed) {
    let mut offer = greeting(method);
    offer[26] |= 8;
    twin.say(&offer);
    let request = twin.hear();
    assert_eq!((request.len(), request[1] & 8), (32, 8), "a request for TLS");
    let plain = std::mem::replace(&mut twin.stream, Box::new(std::io::empty()));
    twin.stream = Box::new(signed.serve(plain));
}

#[test]
fn without_tls_the_password_is_told_under_the_servers_public_key() {
    for is_switched in [false, true] {
        log_in(None, move |twin| {
            let (keys, mut scramble) = (Keys::new(), *SCRAMBLE);
            let first = if is_switched { "mysql_native_password" } else { "caching_sha2_password" };
            twin.say(&greeting(first));
            let first = proof(&twin.hear()).0;
            if is_switched {
                scramble.reverse();
                twin.say(&switch("caching_sha2_password", &[&scramble[..], &[0]].concat()));
                twin.hear();
            } else {
                assert!(is_sha2_proof(&first));
            }
            twin.say(&[1, 4]);
            assert_eq!(twin.hear(), [2], "a request for the key");
            twin.say(&[&[1], &keys.1[..]].concat());
            let sealed = twin.hear();
            assert_eq!(sealed.len(), 256);
            assert_eq!(keys.opened(&sealed, &scramble), [PASSWORD.as_bytes(), &[0]].concat());
            twin.say(&OK);
        })
        .unwrap();
    }
}

#[test]
fn a_key_is_read_from_pem_and_what_is_none_or_too_short_is_an_error() {
    let keys = Keys::new();
    let long = "p".repeat(213);
    let opened = keys.opened(&sealed(&long, SCRAMBLE, &keys.1).unwrap(), SCRAMBLE);
    assert_eq!(opened, [long.as_bytes(), &[0]].concat());
    let why = sealed(&(long + "p"), SCRAMBLE, &keys.1).unwrap_err();
    assert!(why.contains("longer than the 214 bytes"), "{why}");
    let half = &keys.1[..keys.1.len() / 2];
    let spoilt = String::from_utf8_lossy(&keys.1).replacen("MII", "MIJ", 1).into_bytes();
    for pem in [&b""[..], b"no key", half, &spoilt, &[0xFF; 50]] {
        assert!(sealed("p", SCRAMBLE, pem).unwrap_err().contains("no RSA key"));
        let pem = pem.to_vec();
        let error = log_in(None, move |twin| {
            twin.say(&greeting("caching_sha2_password"));
            twin.hear();
            twin.say(&[1, 4]);
            twin.hear();
            twin.say(&[&[1], &pem[..]].concat());
            assert_eq!(twin.hear(), b"", "nothing is told");
        });
        assert!(matches!(error, Err(WireError::Login { .. })), "{error:?}");
    }
}

#[test]
fn over_tls_a_password_is_proved_by_sha2_or_told_in_the_clear() {
    let authority = Authority::new();
    for (tls, is_known) in [(checked(&authority, "localhost"), true), (believed(false), false)] {
        let signed = authority.sign(&["localhost"], 2999);
        let logged_in = log_in(tls.clone(), move |twin| {
            greet_over_tls(twin, "caching_sha2_password", &signed);
            assert!(is_sha2_proof(&proof(&twin.hear()).0));
            if is_known {
                twin.say(&[1, 3]);
            } else {
                twin.say(&[1, 4]);
                assert_eq!(twin.hear(), [PASSWORD.as_bytes(), &[0]].concat());
            }
            twin.say(&OK);
        });
        logged_in.unwrap();
        assert!(agreed(&tls).unwrap().starts_with("TLSv1.3 TLS_"));
    }
}

#[test]
fn a_server_that_is_not_trusted_or_has_no_tls_is_told_nothing() {
    let (authority, other) = (Authority::new(), Authority::new());
    let signed = authority.sign(&["localhost"], 2999);
    let error = log_in(checked(&other, "localhost"), move |twin| {
        greet_over_tls(twin, "caching_sha2_password", &signed);
        assert_eq!(twin.hear(), b"");
    });
    assert!(error.unwrap_err().to_string().contains("is not trusted"));
    let error = log_in(believed(false), |twin| {
        twin.say(&greeting("caching_sha2_password"));
        assert_eq!(twin.hear(), b"");
    });
    assert!(error.unwrap_err().to_string().contains("the server has none"));
    let error = log_in(believed(false), |twin| {
        let mut offer = greeting("caching_sha2_password");
        offer[26] |= 8;
        // What comes in the clear must not be taken for what comes after the handshake.
        twin.stream.write_all(&[packet(&offer, 0), packet(&OK, 2)].concat()).unwrap();
        twin.number = 1;
        assert_eq!(twin.hear().len(), 32);
        assert_eq!(twin.stream.read(&mut [0]).unwrap(), 0, "no handshake");
    });
    assert!(error.unwrap_err().to_string().contains("before the handshake"));
}
