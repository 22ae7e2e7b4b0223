//! What clients send. All functions append to a buffer and allocate only when it has to grow.

use crate::WireError;
use crate::sql::{Type, Value};

use super::wrong;

/// Object identifiers of types, from the server's catalogue `pg_type.dat`.
pub mod oid {
    /// `boolean`.
    pub const BOOL: u32 = 16;
    /// `bytea`.
    pub const BYTEA: u32 = 17;
    /// `"char"`, one byte.
    pub const BYTE: u32 = 18;
    /// `name`, what the catalogue's names are.
    pub const NAME: u32 = 19;
    /// `bigint`.
    pub const INT8: u32 = 20;
    /// `smallint`.
    pub const INT2: u32 = 21;
    /// `integer`.
    pub const INT4: u32 = 23;
    /// `text`.
    pub const TEXT: u32 = 25;
    /// `character(n)`.
    pub const BPCHAR: u32 = 1042;
    /// `character varying`.
    pub const VARCHAR: u32 = 1043;
    /// `numeric`.
    pub const NUMERIC: u32 = 1700;
}

/// Protocol version 3.0.
const VERSION: i32 = 3 << 16;
/// Before the startup: whether the server speaks TLS. It answers with one byte.
pub const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F];
/// Execute the unnamed portal without a limit of rows.
pub const EXECUTE: [u8; 10] = *b"E\0\0\0\x09\0\0\0\0\0";
/// End of a request: the server answers ReadyForQuery.
pub const SYNC: [u8; 5] = *b"S\0\0\0\x04";
/// The server sends what it holds back.
pub const FLUSH: [u8; 5] = *b"H\0\0\0\x04";
/// Goodbye.
pub const TERMINATE: [u8; 5] = *b"X\0\0\0\x04";
/// The end of COPY data.
pub const COPY_DONE: [u8; 5] = *b"c\0\0\0\x04";

/// Writes a body and then its length, which counts itself, before it.
///
/// # Errors
/// `Protocol` when the length would not fit.
fn sized(
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out)?;
    let length = i32::try_from(out.len() - start)
        .map_err(|_| wrong("a message to the server would be larger than 2 GiB"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A text, which ends at its first zero byte.
fn text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), WireError> {
    if text.contains(&0) {
        return Err(wrong("a name or a statement has a zero byte in it; take it out"));
    }
    out.extend_from_slice(text);
    out.push(0);
    Ok(())
}

/// The first message: who we are, and settings by name and value.
///
/// # Errors
/// `Protocol` when a text has a zero byte.
pub fn startup(out: &mut Vec<u8>, settings: &[(&str, &str)]) -> Result<(), WireError> {
    sized(out, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in settings {
            text(out, name.as_bytes())?;
            text(out, value.as_bytes())?;
        }
        out.push(0);
        Ok(())
    })
}

/// A password, as it is or hashed.
///
/// # Errors
/// `Protocol` when it has a zero byte.
pub fn password(out: &mut Vec<u8>, password: &[u8]) -> Result<(), WireError> {
    out.push(b'p');
    sized(out, |out| text(out, password))
}

/// The first message of SASL.
///
/// # Errors
/// `Protocol` when the mechanism's name has a zero byte.
pub fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, first: &[u8]) -> Result<(), WireError> {
    out.push(b'p');
    sized(out, |out| {
        text(out, mechanism.as_bytes())?;
        let length = first.len() as i32; // A few hundred bytes at most.
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(first);
        Ok(())
    })
}

/// A further message of SASL.
///
/// # Errors
/// `Protocol` when it is too large.
pub fn sasl_response(out: &mut Vec<u8>, response: &[u8]) -> Result<(), WireError> {
    out.push(b'p');
    sized(out, |out| {
        out.extend_from_slice(response);
        Ok(())
    })
}

/// Statements without parameters.
///
/// # Errors
/// `Protocol` when there is a zero byte.
pub fn query(out: &mut Vec<u8>, statements: &str) -> Result<(), WireError> {
    out.push(b'Q');
    sized(out, |out| text(out, statements.as_bytes()))
}

/// Prepares a statement under a name. Its placeholders are `$1`, `$2`, ...
///
/// # Errors
/// `Protocol` when there is a zero byte or there are over 65,535 parameters.
pub fn parse(
    out: &mut Vec<u8>,
    name: &str,
    statement: &str,
    parameters: &[Type],
) -> Result<(), WireError> {
    let count = u16::try_from(parameters.len())
        .map_err(|_| wrong("a statement can have 65,535 parameters at most"))?;
    out.push(b'P');
    sized(out, |out| {
        text(out, name.as_bytes())?;
        text(out, statement.as_bytes())?;
        out.extend_from_slice(&count.to_be_bytes());
        for parameter in parameters {
            let oid = match parameter {
                Type::Int => oid::INT8,
                Type::Text => oid::TEXT,
            };
            out.extend_from_slice(&oid.to_be_bytes());
        }
        Ok(())
    })
}

/// Asks for the types of a prepared statement's parameters and columns.
///
/// # Errors
/// `Protocol` when there is a zero byte.
pub fn describe(out: &mut Vec<u8>, name: &str) -> Result<(), WireError> {
    out.push(b'D');
    sized(out, |out| {
        out.push(b'S');
        text(out, name.as_bytes())
    })
}

/// What of a Bind message comes between the statement's name and the values: the parameters'
/// formats (integers binary, texts as texts), their count.
///
/// # Errors
/// `Protocol` when there are over 65,535 parameters.
pub fn bind_head(out: &mut Vec<u8>, parameters: &[Type]) -> Result<(), WireError> {
    let count = u16::try_from(parameters.len())
        .map_err(|_| wrong("a statement can have 65,535 parameters at most"))?;
    let formats = parameters.iter().map(|parameter| u16::from(*parameter == Type::Int));
    formats_of(out, formats);
    out.extend_from_slice(&count.to_be_bytes());
    Ok(())
}

/// Formats of parameters or columns, in the shortest form: none when all are texts (0), one when
/// all are the same.
pub fn formats_of(out: &mut Vec<u8>, formats: impl ExactSizeIterator<Item = u16> + Clone) {
    let binary = formats.clone().filter(|format| *format == 1).count();
    if binary == 0 {
        out.extend_from_slice(&0_u16.to_be_bytes());
    } else if binary == formats.len() {
        out.extend_from_slice(&[0, 1, 0, 1]);
    } else {
        out.extend_from_slice(&(formats.len() as u16).to_be_bytes());
        formats.for_each(|format| out.extend_from_slice(&format.to_be_bytes()));
    }
}

/// Whether values fit a statement's parameters in number and type.
///
/// # Errors
/// `Protocol` that says which does not.
pub fn check(parameters: &[Type], values: &[Value<'_>]) -> Result<(), WireError> {
    if parameters.len() != values.len() {
        let (wanted, given) = (parameters.len(), values.len());
        return Err(wrong(format!("the statement takes {wanted} values, and {given} are given")));
    }
    let is_unlike = |(parameter, value): (&Type, &Value<'_>)| match value {
        Value::Null => false,
        Value::Int(_) => *parameter != Type::Int,
        Value::Text(_) => *parameter != Type::Text,
    };
    match parameters.iter().zip(values).position(is_unlike) {
        None => Ok(()),
        Some(place) => Err(wrong(format!(
            "value {place} is not of the type given at prepare, {:?}",
            parameters[place]
        ))),
    }
}

/// Binds values to a statement, whose name is a number. `head` is [`bind_head`]'s, `tail` the
/// formats of its columns.
///
/// # Errors
/// As for [`check`]; and `Protocol` when the message would be too large.
#[inline]
pub fn bind(
    out: &mut Vec<u8>,
    name: usize,
    head: &[u8],
    parameters: &[Type],
    values: &[Value<'_>],
    tail: &[u8],
) -> Result<(), WireError> {
    check(parameters, values)?;
    out.push(b'B');
    sized(out, |out| {
        // The unnamed portal.
        out.push(0);
        number(out, name);
        out.push(0);
        out.extend_from_slice(head);
        for value in values {
            match value {
                Value::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
                Value::Int(number) => {
                    let mut value = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
                    value[4..].copy_from_slice(&number.to_be_bytes());
                    out.extend_from_slice(&value);
                }
                Value::Text(text) => {
                    // Larger ones fail as a whole message does.
                    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
                    out.extend_from_slice(text);
                }
            }
        }
        out.extend_from_slice(tail);
        Ok(())
    })
}

/// A number in decimal digits.
#[inline]
fn number(out: &mut Vec<u8>, mut rest: usize) {
    let (mut digits, mut start) = ([0; 20], 20);
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return out.extend_from_slice(&digits[start..]);
        }
    }
}

/// A piece of COPY data.
///
/// # Errors
/// `Protocol` when it is larger than 2 GiB.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) -> Result<(), WireError> {
    out.push(b'd');
    sized(out, |out| {
        out.extend_from_slice(data);
        Ok(())
    })
}

/// Says that there will be no COPY data, and why.
///
/// # Errors
/// `Protocol` when there is a zero byte.
pub fn copy_fail(out: &mut Vec<u8>, why: &str) -> Result<(), WireError> {
    out.push(b'f');
    sized(out, |out| text(out, why.as_bytes()))
}
