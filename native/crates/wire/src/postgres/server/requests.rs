//! What clients send.

use super::super::messages::oid;
use super::super::reader::Reader;
use super::super::wrong;
use crate::WireError;
use crate::sql::Value;

/// The largest message that is read.
const LENGTH_MAX: usize = 64 << 20;
/// The largest first message.
const STARTUP_MAX: usize = 10_000;

/// The first message of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Startup<'m> {
    /// A session begins; settings by name and value.
    Session(&'m [u8]),
    /// TLS or GSSAPI is asked for: the answer is `N`, and a first message follows again.
    Encryption,
    /// Another session's request is to be given up. Nothing is answered.
    Cancel,
}

/// Takes the first message from the start of the input: its bytes, and what it is; none while it is
/// incomplete.
///
/// # Errors
/// `Protocol` when it is none.
pub fn startup(input: &[u8]) -> Result<Option<(usize, Startup<'_>)>, WireError> {
    let Some((length, rest)) = input.split_first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if !(8..=STARTUP_MAX).contains(&length) {
        return Err(wrong(format!("a first message of {length} bytes")));
    }
    let Some(body) = rest.get(..length - 4) else { return Ok(None) };
    let mut reader = Reader::new(body, "StartupMessage");
    let message = match reader.i32()? {
        196_608 => Startup::Session(reader.rest()),
        80_877_103 | 80_877_104 => Startup::Encryption,
        80_877_102 => Startup::Cancel,
        version => {
            let (major, minor) = (version >> 16, version & 0xFFFF);
            return Err(wrong(format!("version {major}.{minor} of the protocol; 3.0 is spoken")));
        }
    };
    Ok(Some((length, message)))
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'m> {
    /// Statements without parameters.
    Query(&'m str),
    /// Prepares a statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: &'m [u8],
        /// Its text.
        text: &'m str,
    },
    /// Binds values to a statement.
    Bind(Bind<'m>),
    /// Asks what a statement or portal returns.
    Describe {
        /// `S`, a statement, or `P`, a portal.
        kind: u8,
        /// Its name.
        name: &'m [u8],
    },
    /// Runs a portal.
    Execute {
        /// Its name.
        portal: &'m [u8],
        /// The most rows to be returned; 0 for all.
        rows: u32,
    },
    /// Forgets a statement or portal; fields as of `Describe`.
    Close {
        /// `S`, a statement, or `P`, a portal.
        kind: u8,
        /// Its name.
        name: &'m [u8],
    },
    /// What is held back is to be sent.
    Flush,
    /// The end of a request.
    Sync,
    /// Goodbye.
    Terminate,
    /// Anything else, by its type.
    Other(u8),
}

/// Values for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bind<'m> {
    /// The portal.
    pub portal: &'m [u8],
    /// The statement.
    pub statement: &'m [u8],
    /// The formats of the values.
    formats: Formats<'m>,
    count: usize,
    values: &'m [u8],
    /// The formats that rows are asked for in.
    pub results: Formats<'m>,
}

/// Formats of values or columns: none (all are texts), one for all, or one for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats<'m>(&'m [u8]);

impl Formats<'_> {
    /// Whether a value or column is in binary.
    pub fn is_binary(&self, place: usize) -> bool {
        let place = if self.0.len() == 2 { 0 } else { place * 2 };
        self.0.get(place..place + 2) == Some(&[0, 1])
    }
}

fn formats<'m>(reader: &mut Reader<'m>) -> Result<Formats<'m>, WireError> {
    let count = reader.u16()?;
    reader.bytes(usize::from(count) * 2).map(Formats)
}

impl<'m> Bind<'m> {
    fn decode(mut reader: Reader<'m>) -> Result<Self, WireError> {
        let (portal, statement) = (reader.text()?, reader.text()?);
        let formats = self::formats(&mut reader)?;
        let count = usize::from(reader.u16()?);
        let before = reader.rest();
        for _ in 0..count {
            field(&mut reader)?;
        }
        let values = &before[..before.len() - reader.rest().len()];
        let results = self::formats(&mut reader)?;
        reader.end()?;
        Ok(Self { portal, statement, formats, count, values, results })
    }

    /// The values, appended to `values`, of parameters with these types (object identifiers; those
    /// that are missing are texts).
    ///
    /// # Errors
    /// `Protocol` when a number is none.
    pub fn values(&self, types: &[u32], values: &mut Vec<Value<'m>>) -> Result<(), WireError> {
        let mut reader = Reader::new(self.values, "Bind");
        for place in 0..self.count {
            let is_number = types
                .get(place)
                .is_some_and(|found| [oid::INT2, oid::INT4, oid::INT8].contains(found));
            values.push(match field(&mut reader)? {
                None => Value::Null,
                Some(bytes) if !is_number => Value::Text(bytes),
                Some(bytes) => {
                    let read = number(bytes, self.formats.is_binary(place));
                    let what = || wrong(format!("parameter {place} is no integer"));
                    Value::Int(read.ok_or_else(what)?)
                }
            });
        }
        Ok(())
    }
}

fn field<'m>(reader: &mut Reader<'m>) -> Result<Option<&'m [u8]>, WireError> {
    match reader.i32()? {
        -1 => Ok(None),
        length => reader.bytes(length as u32 as usize).map(Some),
    }
}

fn number(bytes: &[u8], is_binary: bool) -> Option<i64> {
    match bytes {
        _ if !is_binary => str::from_utf8(bytes).ok()?.parse().ok(),
        &[a, b] => Some(i64::from(i16::from_be_bytes([a, b]))),
        &[a, b, c, d] => Some(i64::from(i32::from_be_bytes([a, b, c, d]))),
        bytes => bytes.try_into().ok().map(i64::from_be_bytes),
    }
}

/// Takes one request from the start of the input: its bytes, and what it is; none while it is
/// incomplete. The types that a `Parse` tells of its parameters are in [`parameter_types`].
///
/// # Errors
/// `Protocol` when it is none.
pub fn next(input: &[u8]) -> Result<Option<(usize, Request<'_>)>, WireError> {
    let Some((&[kind, a, b, c, d], rest)) = input.split_first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(4..=LENGTH_MAX).contains(&length) {
        return Err(wrong(format!("a request of {length} bytes")));
    }
    let Some(body) = rest.get(..length - 4) else { return Ok(None) };
    Ok(Some((length + 1, request(kind, body)?)))
}

fn request(kind: u8, body: &[u8]) -> Result<Request<'_>, WireError> {
    let utf8 = |text| str::from_utf8(text).map_err(|_| wrong("a statement is no UTF-8"));
    let mut reader = Reader::new(body, "request");
    Ok(match kind {
        b'Q' => Request::Query(utf8(reader.text()?)?),
        b'P' => {
            let (name, text) = (reader.text()?, utf8(reader.text()?)?);
            Request::Parse { name, text }
        }
        b'B' => Request::Bind(Bind::decode(reader)?),
        b'D' => Request::Describe { kind: reader.u8()?, name: reader.text()? },
        b'E' => Request::Execute { portal: reader.text()?, rows: reader.u32()? },
        b'C' => Request::Close { kind: reader.u8()?, name: reader.text()? },
        b'H' => Request::Flush,
        b'S' => Request::Sync,
        b'X' => Request::Terminate,
        other => Request::Other(other),
    })
}

/// The object identifiers of the types that a `Parse` message (whole, with its header) tells.
///
/// # Errors
/// `Protocol` when it ends too early.
pub fn parameter_types(message: &[u8]) -> Result<Vec<u32>, WireError> {
    let mut reader = Reader::new(message.get(5..).unwrap_or_default(), "Parse");
    reader.text()?;
    reader.text()?;
    let count = reader.u16()?;
    let bytes = reader.bytes(usize::from(count) * 4)?;
    Ok(bytes.chunks_exact(4).map(|it| u32::from_be_bytes([it[0], it[1], it[2], it[3]])).collect())
}

#[cfg(test)]
mod tests {
    use super::super::super::messages;
    use super::*;
    use crate::sql::Type;

    #[test]
    fn what_our_own_client_writes_is_read() {
        let mut out = Vec::new();
        messages::startup(&mut out, &[("user", "me")]).unwrap();
        let found = startup(&out).unwrap().unwrap();
        assert_eq!(found, (out.len(), Startup::Session(b"user\0me\0\0")));
        let (types, mut out) = ([Type::Int, Type::Text, Type::Int], Vec::new());
        messages::parse(&mut out, "7", "SELECT $1", &types).unwrap();
        assert_eq!(parameter_types(&out).unwrap(), [oid::INT8, oid::TEXT, oid::INT8]);
        messages::describe(&mut out, "7").unwrap();
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        messages::bind_head(&mut head, &types).unwrap();
        messages::formats_of(&mut tail, [1, 0].into_iter());
        let values = [Value::Int(-9), Value::Text(b"x"), Value::Null];
        messages::bind(&mut out, 7, &head, &types, &values, &tail).unwrap();
        out.extend_from_slice(&messages::EXECUTE);
        out.extend_from_slice(&messages::SYNC);
        let mut rest = &out[..];
        let mut found = Vec::new();
        while let Some((bytes, request)) = next(rest).unwrap() {
            rest = &rest[bytes..];
            found.push(request);
        }
        assert!(rest.is_empty());
        let [parse, describe, Request::Bind(bind), execute, Request::Sync] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(parse, Request::Parse { name: b"7", text: "SELECT $1" });
        assert_eq!(describe, Request::Describe { kind: b'S', name: b"7" });
        assert_eq!(execute, Request::Execute { portal: b"", rows: 0 });
        let mut read = Vec::new();
        bind.values(&[oid::INT8, oid::TEXT, oid::INT8], &mut read).unwrap();
        assert_eq!(read, values);
        assert_eq!([0, 1].map(|place| bind.results.is_binary(place)), [true, false]);
    }

    #[test]
    fn one_format_is_for_all_and_none_is_text() {
        assert!(Formats(&[0, 1]).is_binary(7));
        assert!(!Formats(&[]).is_binary(0));
        assert!(!Formats(&[0, 0]).is_binary(3));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_request_or_an_error(
            kind in proptest::sample::select(b"QPBDECHSXp".to_vec()),
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
        ) {
            let length = (body.len() as u32 + 4).to_be_bytes();
            let message = [&[kind], &length[..], &body].concat();
            let _ = startup(&body);
            let _ = startup(&message[1..]);
            let _ = parameter_types(&message);
            if let Ok(Some((_, Request::Bind(bind)))) = next(&message) {
                let _ = bind.values(&[oid::INT8; 3], &mut Vec::new());
            }
        }
    }
}
