//! What a PostgreSQL server sends, written byte by byte for tests.
#![allow(dead_code)] // No test uses all of it.

/// A message of a type.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// An authentication request and its data.
pub fn authentication(kind: i32, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&kind.to_be_bytes(), data].concat())
}

pub fn ready(state: u8) -> Vec<u8> {
    message(b'Z', &[state])
}

/// An error (`E`) or notice (`N`).
pub fn report(kind: u8, fields: &[(u8, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (letter, text) in fields {
        body.push(*letter);
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    message(kind, &body)
}

/// Columns by name and the object identifier of their type, in binary format.
pub fn row_description(columns: &[(&str, u32)]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for (name, type_oid) in columns {
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&[0; 7]); // The name's end, no table, no column of it.
        body.extend_from_slice(&type_oid.to_be_bytes());
        body.extend_from_slice(&[0, 8, 0xff, 0xff, 0xff, 0xff, 0, 1]);
    }
    message(b'T', &body)
}

pub fn data_row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let length = value.map_or(-1, |value| value.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default());
    }
    message(b'D', &body)
}

pub fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

/// The end of a login without a password.
pub fn welcome() -> Vec<u8> {
    [
        authentication(0, b""),
        message(b'S', b"server_version\x0015.9\0"),
        message(b'K', &[0, 0, 4, 210, 1, 2, 3, 4]),
        ready(b'I'),
    ]
    .concat()
}

/// One message of every kind that a server can send.
pub fn one_of_each() -> Vec<Vec<u8>> {
    vec![
        authentication(0, b""),
        authentication(2, b""),
        authentication(3, b""),
        authentication(5, b"salt"),
        authentication(6, b""),
        authentication(7, b""),
        authentication(8, b"gss data"),
        authentication(9, b""),
        authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        authentication(11, b"r=abc,s=QQ==,i=4096"),
        authentication(12, b"v=abc"),
        authentication(77, b"what is this"),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'K', &[0, 0, 4, 210, 1, 2, 3, 4]),
        ready(b'I'),
        ready(b'T'),
        ready(b'E'),
        message(b't', &[0, 2, 0, 0, 0, 20, 0, 0, 0, 25]),
        row_description(&[("id", 20), ("", 25)]),
        row_description(&[]),
        data_row(&[Some(&7_i64.to_be_bytes()), None, Some(b""), Some(&[0; 300])]),
        data_row(&[]),
        complete("INSERT 0 12"),
        complete("BEGIN"),
        message(b'I', b""),
        report(b'E', &[(b'S', "ERROR"), (b'C', "40P01"), (b'M', "deadlock"), (b'D', "detail")]),
        report(b'E', &[]),
        report(b'N', &[(b'V', "NOTICE"), (b'M', "a word")]),
        message(b'1', b""),
        message(b'2', b""),
        message(b'3', b""),
        message(b'n', b""),
        message(b's', b""),
        message(b'A', b"\0\0\0\x07channel\0payload\0"),
        message(b'G', &[0, 0, 2, 0, 0, 0, 0]),
        message(b'H', &[1, 0, 1, 0, 1]),
        message(b'W', &[0, 0, 0]),
        message(b'd', b"1\tx\n"),
        message(b'c', b""),
        message(b'v', b"\0\x03\0\0\0\0\0\x02_pq_.one\0_pq_.two\0"),
    ]
}
