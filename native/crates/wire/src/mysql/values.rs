//! Requests, and the parameters of prepared statements.

use std::rc::Rc;

use super::bytes::put_string;
use super::codec::{begin, finish};
use super::protocol;
use crate::WireError;
use crate::pool::Pool;
use crate::sql::{Type, Value};

/// The first bytes of requests.
mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PING: u8 = 0x0E;
    pub const PREPARE: u8 = 0x16;
    pub const EXECUTE: u8 = 0x17;
    pub const CLOSE: u8 = 0x19;
}

const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xFD;

thread_local! {
    static SHARED: Pool<Vec<Type>> = Pool::default();
}

/// What an execution needs to know of its statement.
#[derive(Debug)]
pub struct Parameters {
    /// Shared by all statements with these, until other values are given.
    types: Rc<Vec<Type>>,
    /// Whether the server has been told these types.
    is_told: bool,
}

impl Parameters {
    /// Types that the server does not know yet.
    pub fn new(types: &[Type]) -> Self {
        Self { types: SHARED.with(|pool| pool.share(types.to_vec())), is_told: false }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.types.len()
    }

    /// Tells the server the types again: it may not have got as far as reading them.
    pub fn tell_again(&mut self) {
        self.is_told = false;
    }
}

/// Writes the execution of a statement: without a cursor, so that all rows come at once. The
/// server is told the types of the parameters the first time, and when they change.
///
/// Returns the number of the first packet of the answer.
///
/// # Errors
/// `Protocol` when there are more or fewer values than parameters.
#[inline]
pub fn put_execute(
    out: &mut Vec<u8>,
    id: u32,
    parameters: &mut Parameters,
    values: &[Value<'_>],
) -> Result<u8, WireError> {
    let count = parameters.types.len();
    if values.len() != count {
        return Err(protocol(format!("{} values for {count} parameters", values.len())));
    }
    let start = begin(out);
    out.push(command::EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    // No cursor; one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if count > 0 {
        let nulls = out.len();
        out.resize(nulls + count.div_ceil(8), 0);
        for (place, value) in values.iter().enumerate() {
            let kind = match value {
                Value::Int(_) => Type::Int,
                Value::Text(_) => Type::Text,
                Value::Null => {
                    out[nulls + place / 8] |= 1 << (place % 8);
                    continue;
                }
            };
            if parameters.types[place] != kind {
                Rc::make_mut(&mut parameters.types)[place] = kind;
                parameters.is_told = false;
            }
        }
        out.push(u8::from(!parameters.is_told));
        if !parameters.is_told {
            put_types(out, &parameters.types);
            parameters.is_told = true;
        }
        for value in values {
            match value {
                Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
                Value::Text(text) => put_string(out, text),
                Value::Null => {}
            }
        }
    }
    Ok(finish(out, start, 0))
}

fn put_types(out: &mut Vec<u8>, types: &[Type]) {
    for kind in types {
        let code = match kind {
            Type::Int => LONGLONG,
            Type::Text => VAR_STRING,
        };
        out.extend_from_slice(&[code, 0]);
    }
}

fn put(out: &mut Vec<u8>, command: u8, text: &[u8]) -> u8 {
    let start = begin(out);
    out.push(command);
    out.extend_from_slice(text);
    finish(out, start, 0)
}

/// Writes a preparation; the number of the answer's first packet.
pub fn put_prepare(out: &mut Vec<u8>, text: &str) -> u8 {
    put(out, command::PREPARE, text.as_bytes())
}

/// Writes a text of statements; the number of the answer's first packet.
pub fn put_query(out: &mut Vec<u8>, text: &str) -> u8 {
    put(out, command::QUERY, text.as_bytes())
}

/// Writes a question whether the server is there; the number of its answer.
pub fn put_ping(out: &mut Vec<u8>) -> u8 {
    put(out, command::PING, &[])
}

/// Writes that a statement is not needed any more, which is not answered.
pub fn put_close(out: &mut Vec<u8>, id: u32) {
    put(out, command::CLOSE, &id.to_le_bytes());
}

/// Writes a goodbye, which is not answered.
pub fn put_quit(out: &mut Vec<u8>) {
    put(out, command::QUIT, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(parameters: &mut Parameters, values: &[Value<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        assert_eq!(put_execute(&mut out, 7, parameters, values).unwrap(), 1);
        assert_eq!(out[..4], [(out.len() - 4) as u8, 0, 0, 0]);
        out[4..].to_vec()
    }

    #[test]
    fn types_are_told_the_first_time_and_when_they_change() {
        let mut parameters = Parameters::new(&[Type::Int, Type::Text]);
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let first = executed(&mut parameters, &[Value::Int(-2), Value::Text(b"ab")]);
        let types = [1, 0x08, 0, 0xFD, 0];
        let values = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, b'a', b'b'];
        assert_eq!(first, [&head[..], &[0], &types, &values].concat());
        let again = executed(&mut parameters, &[Value::Int(-2), Value::Text(b"ab")]);
        assert_eq!(again, [&head[..], &[0, 0], &values].concat());
        let null = executed(&mut parameters, &[Value::Null, Value::Text(b"ab")]);
        assert_eq!(null, [&head[..], &[0b01, 0, 2, b'a', b'b']].concat());
        let changed = executed(&mut parameters, &[Value::Text(b""), Value::Null]);
        assert_eq!(changed, [&head[..], &[0b10, 1, 0xFD, 0, 0xFD, 0, 0]].concat());
        parameters.tell_again();
        assert_eq!(executed(&mut parameters, &[Value::Null, Value::Null])[11], 1);
    }

    #[test]
    fn the_ninth_null_is_in_the_second_byte() {
        let mut parameters = Parameters::new(&[Type::Int; 9]);
        let mut values = [Value::Int(0); 9];
        values[8] = Value::Null;
        assert_eq!(executed(&mut parameters, &values)[10..12], [0, 1]);
    }

    #[test]
    fn a_statement_without_parameters_has_no_bitmap() {
        assert_eq!(executed(&mut Parameters::new(&[]), &[]).len(), 10);
    }

    #[test]
    fn another_number_of_values_is_an_error_and_writes_nothing() {
        let mut out = Vec::new();
        let wrong = put_execute(&mut out, 7, &mut Parameters::new(&[Type::Int]), &[]).unwrap_err();
        assert!(wrong.to_string().contains("0 values for 1 parameters"), "{wrong}");
        assert!(out.is_empty());
    }
}
