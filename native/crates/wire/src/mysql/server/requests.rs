//! What clients send.

use super::super::bytes::{Bytes, whole};
use super::super::packets::capability;
use super::super::protocol;
use crate::WireError;
use crate::sql::Value;

/// What a client says to a greeting, as far as a server that lets everybody in needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginRequest<'p> {
    /// What the client can do.
    pub capabilities: u64,
    /// Who logs in.
    pub user: &'p [u8],
}

impl<'p> LoginRequest<'p> {
    /// Reads the first packet of a client.
    ///
    /// # Errors
    /// `Protocol` when it is none, or of a protocol before 4.1.
    pub fn read(payload: &'p [u8]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload);
        let read = (|| {
            let low = u64::from(bytes.u32()?);
            let (_packet_bytes, _charset, _filling) = (bytes.u32()?, bytes.u8()?, bytes.take(19)?);
            let high = u64::from(bytes.u32()?);
            let extended = if low & capability::MYSQL == 0 { high << 32 } else { 0 };
            Some(Self { capabilities: low | extended, user: bytes.until_zero()? })
        })();
        let login = whole(read, "the login")?;
        if login.capabilities & capability::PROTOCOL_41 == 0 {
            return Err(protocol("a client from before protocol 4.1"));
        }
        Ok(login)
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'p> {
    /// Goodbye, which is not answered.
    Quit,
    /// Another database, which is answered OK.
    Database,
    /// A text of statements.
    Query(&'p str),
    /// Is the server there?
    Ping,
    /// A statement to be prepared.
    Prepare(&'p str),
    /// The execution of a prepared statement.
    Execute {
        /// Its number.
        id: u32,
        /// Its values, for [`Bound::read`].
        values: &'p [u8],
    },
    /// A prepared statement is not needed any more, which is not answered.
    Close(u32),
    /// Anything else, by its first byte.
    Other(u8),
}

impl<'p> Request<'p> {
    /// Reads a packet.
    ///
    /// # Errors
    /// `Protocol` when it ends too early or a text is no UTF-8.
    pub fn read(payload: &'p [u8]) -> Result<Self, WireError> {
        let mut bytes = Bytes(payload);
        let text = |text| str::from_utf8(text).map_err(|_| protocol("a statement is no UTF-8"));
        Ok(match whole(bytes.u8(), "a request")? {
            0x01 => Self::Quit,
            0x02 => Self::Database,
            0x03 => Self::Query(text(bytes.rest())?),
            0x0E => Self::Ping,
            0x16 => Self::Prepare(text(bytes.rest())?),
            0x17 => {
                let id = whole(bytes.u32(), "an execution")?;
                let flags = whole(bytes.u8(), "an execution")?;
                if flags != 0 {
                    return Err(protocol("an execution with a cursor"));
                }
                whole(bytes.u32(), "an execution")?;
                Self::Execute { id, values: bytes.rest() }
            }
            0x19 => Self::Close(whole(bytes.u32(), "the end of a statement")?),
            other => Self::Other(other),
        })
    }
}

/// The types that a client has told of a statement's parameters, which later executions leave out.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    types: Vec<(u8, bool)>,
}

impl Bound {
    /// The values of an execution of a statement with so many parameters, appended to `values`.
    ///
    /// # Errors
    /// `Protocol` when they end too early, or have a type that stand-ins do not read: they read
    /// integers, texts and null.
    pub fn read<'p>(
        &mut self,
        payload: &'p [u8],
        parameters: usize,
        values: &mut Vec<Value<'p>>,
    ) -> Result<(), WireError> {
        if parameters == 0 {
            return Ok(());
        }
        let mut bytes = Bytes(payload);
        let nulls = whole(bytes.take(parameters.div_ceil(8)), "an execution")?;
        if whole(bytes.u8(), "an execution")? == 1 {
            let told = whole(bytes.take(parameters * 2), "an execution")?;
            self.types.clear();
            self.types.extend(told.chunks_exact(2).map(|pair| (pair[0], pair[1] & 0x80 != 0)));
        }
        if self.types.len() != parameters {
            return Err(protocol("an execution before the types of its parameters were sent"));
        }
        for (place, (code, is_unsigned)) in self.types.iter().enumerate() {
            let is_null = nulls[place / 8] & (1 << (place % 8)) != 0;
            values.push(if is_null {
                Value::Null
            } else {
                value(*code, *is_unsigned, &mut bytes)?
            });
        }
        Ok(())
    }
}

fn value<'p>(code: u8, is_unsigned: bool, bytes: &mut Bytes<'p>) -> Result<Value<'p>, WireError> {
    let signed = |value: i64, bits: u32| {
        if is_unsigned { value & (i64::MAX >> (63 - bits)) } else { value }
    };
    let read = match code {
        1 => bytes.u8().map(|value| Value::Int(signed(i64::from(value.cast_signed()), 8))),
        2 => bytes.u16().map(|value| Value::Int(signed(i64::from(value.cast_signed()), 16))),
        3 => bytes.u32().map(|value| Value::Int(signed(i64::from(value.cast_signed()), 32))),
        8 => bytes.u64().map(|value| Value::Int(value.cast_signed())),
        6 => Some(Value::Null),
        // DECIMAL, VARCHAR, NEWDECIMAL, ENUM, SET, blobs and strings.
        0 | 15 | 246..=254 => bytes.string().map(Value::Text),
        code => return Err(protocol(format!("a parameter of type {code}, which is not read"))),
    };
    whole(read, "an execution")
}

#[cfg(test)]
mod tests {
    use super::super::super::values::{Parameters, put_close, put_execute, put_prepare, put_query};
    use super::*;
    use crate::sql::Type;

    /// What the client's own half has written, without its header.
    fn written(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out);
        out.split_off(4)
    }

    #[test]
    fn what_our_own_client_writes_is_read() {
        let prepare = written(|out| _ = put_prepare(out, "SELECT 1"));
        assert_eq!(Request::read(&prepare).unwrap(), Request::Prepare("SELECT 1"));
        let query = written(|out| _ = put_query(out, "BEGIN"));
        assert_eq!(Request::read(&query).unwrap(), Request::Query("BEGIN"));
        assert_eq!(Request::read(&written(|out| put_close(out, 9))).unwrap(), Request::Close(9));
        let (mut parameters, mut bound) = (Parameters::new(&[Type::Int; 3]), Bound::default());
        // The types are told the first time and when they change.
        for values in [
            [Value::Int(-7), Value::Text(b"abc"), Value::Null],
            [Value::Int(1 << 40), Value::Text(b""), Value::Int(3)],
            [Value::Int(8), Value::Text(b"x"), Value::Null],
        ] {
            let execute = written(|out| drop(put_execute(out, 5, &mut parameters, &values)));
            let Request::Execute { id: 5, values: payload } = Request::read(&execute).unwrap()
            else {
                panic!("{execute:?} is no execution of statement 5");
            };
            let mut found = Vec::new();
            bound.read(payload, 3, &mut found).unwrap();
            assert_eq!(found, values);
            for end in 0..payload.len() {
                assert!(bound.clone().read(&payload[..end], 3, &mut Vec::new()).is_err());
            }
        }
    }

    #[test]
    fn narrow_integers_are_read_with_their_sign() {
        let mut bound = Bound::default();
        let types = [1, 0, 1, 0x80, 2, 0, 3, 0x80];
        let payload = [&[0, 1][..], &types, &[0xFF, 0xFF, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]];
        let payload = payload.concat();
        let mut values = Vec::new();
        bound.read(&payload, 4, &mut values).unwrap();
        let expected = [-1, 255, -2, i64::from(u32::MAX)].map(Value::Int);
        assert_eq!(values, expected);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_request_or_an_error(
            payload in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
            parameters in 0..20_usize,
        ) {
            let _ = LoginRequest::read(&payload);
            let _ = Request::read(&payload);
            let _ = Bound::default().read(&payload, parameters, &mut Vec::new());
        }
    }
}
