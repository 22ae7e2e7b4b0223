//! Servers of MySQL's protocol that tests write themselves: what no real server here can be made to
//! say.
#![allow(dead_code)] // Not every file of tests needs everything.

use std::io::{Read, Write};

use assay_runtime::Address;
use assay_wire::Target;
use assay_wire::mysql::codec::{begin, finish};
use sha2::{Digest, Sha256};

pub const PASSWORD: &str = "a pass word";
pub const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";
pub const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];

pub fn greeting(method: &str) -> Vec<u8> {
    let mut out = b"\x0A9.1.0-twin\0".to_vec();
    out.extend_from_slice(&77_u32.to_le_bytes());
    out.extend_from_slice(&SCRAMBLE[..8]);
    // As MySQL 9 offers, without TLS and compression.
    out.extend_from_slice(&[0, 0xDF, 0xF7, 45, 2, 0, 0xFF, 0x01, 21]);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&SCRAMBLE[8..]);
    out.push(0);
    out.extend_from_slice(method.as_bytes());
    out.push(0);
    out
}

pub fn switch(method: &str, scramble: &[u8]) -> Vec<u8> {
    [&[0xFE], method.as_bytes(), &[0], scramble].concat()
}

pub fn packet(payload: &[u8], number: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let start = begin(&mut out);
    out.extend_from_slice(payload);
    finish(&mut out, start, number);
    out
}

/// What the first answer of a client proves, and the method it names.
pub fn proof(login: &[u8]) -> (Vec<u8>, String) {
    let after_user = 32 + login[32..].iter().position(|&byte| byte == 0).unwrap() + 1;
    let length = usize::from(login[after_user]);
    let rest = &login[after_user + 1..];
    let method = String::from_utf8_lossy(&rest[length..]).trim_end_matches('\0').to_owned();
    (rest[..length].to_vec(), method)
}

pub trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// One side of a login, in a thread of its own.
pub struct Twin {
    pub stream: Box<dyn Stream>,
    pub number: u8,
}

impl Twin {
    pub fn say(&mut self, payload: &[u8]) {
        // A client that has had enough is gone.
        let _ = self.stream.write_all(&packet(payload, self.number));
        self.number = self.number.wrapping_add(1);
    }

    pub fn hear(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        if self.stream.read_exact(&mut header).is_err() {
            return Vec::new();
        }
        assert_eq!(header[3], self.number, "the client counts on");
        self.number = header[3].wrapping_add(1);
        let mut payload =
            vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        payload
    }
}

pub fn target(address: Address) -> Target {
    let password = Some(PASSWORD.to_owned());
    Target { address, user: "somebody".to_owned(), password, database: String::new(), tls: None }
}

/// What a server of `caching_sha2_password` does with a proof.
pub fn is_sha2_proof(proof: &[u8]) -> bool {
    let kept = Sha256::digest(Sha256::digest(PASSWORD));
    let mask = Sha256::new().chain_update(kept).chain_update(SCRAMBLE).finalize();
    let once: Vec<u8> = proof.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    Sha256::digest(once) == kept
}
