//! What servers send. Each function appends whole packets, the first with the given number, and
//! returns the number that the next one has.

use super::super::answer::Shape as Agreed;
use super::super::bytes::{put_length, put_string};
use super::super::codec::{begin, finish};
use super::super::packets::capability;
use crate::answers::{Column, ColumnType};
use crate::sql::Value;

/// What a stand-in can do: what the client of this crate uses, and no more.
pub const OFFERED: u64 = capability::FOUND_ROWS
    | capability::CONNECT_WITH_DB
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF
    | capability::CACHE_METADATA;

/// utf8mb4, in the collation that all versions know by this number.
const UTF8MB4: u8 = 45;
/// "Autocommit is on".
const STATUS: u16 = 2;
/// Bytes that a text column may say it has.
const TEXT_BYTES: u32 = 1020;

/// The two ways in which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As texts: answers to `Query`.
    Text,
    /// In binary: answers to `Execute`.
    Binary,
}

/// What was agreed on with a client that can do this.
pub fn agreed(capabilities: u64) -> Agreed {
    let both = capabilities & OFFERED;
    Agreed {
        deprecate_eof: both & capability::DEPRECATE_EOF != 0,
        cache_metadata: both & capability::CACHE_METADATA != 0,
    }
}

fn packet(out: &mut Vec<u8>, number: u8, body: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = begin(out);
    body(out);
    finish(out, start, number)
}

/// The first packet, of a server of `MariaDB`'s kind.
pub fn put_greeting(
    out: &mut Vec<u8>,
    version: &str,
    connection: u32,
    capabilities: u64,
    scramble: [u8; 20],
) -> u8 {
    packet(out, 0, |out| {
        out.push(10);
        out.extend(version.bytes().filter(|&byte| byte != 0));
        out.push(0);
        out.extend_from_slice(&connection.to_le_bytes());
        out.extend_from_slice(&scramble[..8]);
        out.push(0);
        out.extend_from_slice(&(capabilities as u16).to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&STATUS.to_le_bytes());
        out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        out.push(scramble.len() as u8 + 1);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&scramble[8..]);
        out.push(0);
        out.extend_from_slice(b"mysql_native_password\0");
    })
}

/// OK.
pub fn put_ok(out: &mut Vec<u8>, number: u8, affected: u64) -> u8 {
    packet(out, number, |out| done(out, 0, affected))
}

fn done(out: &mut Vec<u8>, kind: u8, affected: u64) {
    out.push(kind);
    put_length(out, affected);
    // No inserted key; no warnings.
    out.push(0);
    out.extend_from_slice(&STATUS.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
}

/// An error: its number, its SQL state and its words.
pub fn put_error(out: &mut Vec<u8>, number: u8, code: u16, state: [u8; 5], message: &str) -> u8 {
    packet(out, number, |out| {
        out.push(0xFF);
        out.extend_from_slice(&code.to_le_bytes());
        out.push(b'#');
        out.extend_from_slice(&state);
        out.extend_from_slice(message.as_bytes());
    })
}

fn put_eof(out: &mut Vec<u8>, number: u8) -> u8 {
    packet(out, number, |out| {
        out.extend_from_slice(&[0xFE, 0, 0]);
        out.extend_from_slice(&STATUS.to_le_bytes());
    })
}

/// The answer to a preparation.
pub fn put_prepared(
    out: &mut Vec<u8>,
    agreed: Agreed,
    id: u32,
    parameters: usize,
    columns: &[Column],
) -> u8 {
    let mut number = packet(out, 1, |out| {
        out.push(0);
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        out.extend_from_slice(&(parameters as u16).to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    });
    let parameter = Column { name: "?", kind: ColumnType::Text };
    let (told, is_old) = (std::iter::repeat_n(&parameter, parameters), !agreed.deprecate_eof);
    number = definitions(out, number, told, is_old && parameters > 0);
    definitions(out, number, columns, is_old && !columns.is_empty())
}

fn definitions<'c>(
    out: &mut Vec<u8>,
    mut number: u8,
    columns: impl IntoIterator<Item = &'c Column>,
    has_end: bool,
) -> u8 {
    for column in columns {
        number = packet(out, number, |out| definition(out, column));
    }
    if has_end { put_eof(out, number) } else { number }
}

fn definition(out: &mut Vec<u8>, column: &Column) {
    let (code, bytes): (u8, u32) = match column.kind {
        ColumnType::Int => (3, 11),
        ColumnType::BigInt => (8, 20),
        ColumnType::Decimal => (246, 42),
        ColumnType::Text => (253, TEXT_BYTES),
    };
    // Catalogue, database, table and its own name, the column and its own name.
    for name in ["def", "", "", "", column.name, column.name] {
        put_string(out, name.as_bytes());
    }
    let charset = if column.kind == ColumnType::Text { UTF8MB4 } else { 63 };
    out.push(12);
    out.extend_from_slice(&u16::from(charset).to_le_bytes());
    out.extend_from_slice(&bytes.to_le_bytes());
    // No flags, no decimals, and two bytes of filling.
    out.extend_from_slice(&[code, 0, 0, 0, 0, 0]);
}

/// What comes before rows: how many columns, and what they are. Those of an execution are left out
/// for a client that has agreed to that.
pub fn put_columns(
    out: &mut Vec<u8>,
    number: u8,
    agreed: Agreed,
    format: Format,
    columns: &[Column],
) -> u8 {
    let is_told = format == Format::Text || !agreed.cache_metadata;
    let number = packet(out, number, |out| {
        put_length(out, columns.len() as u64);
        if agreed.cache_metadata {
            out.push(u8::from(is_told));
        }
    });
    let told = if is_told { columns } else { &[] };
    definitions(out, number, told, !agreed.deprecate_eof)
}

/// A row. A value that does not fit its column, and one that is missing, is null.
pub fn put_row(
    out: &mut Vec<u8>,
    number: u8,
    format: Format,
    columns: &[Column],
    values: &[Value<'_>],
) -> u8 {
    packet(out, number, |out| match format {
        Format::Text => (0..columns.len()).for_each(|place| text(out, values.get(place))),
        Format::Binary => binary(out, columns, values),
    })
}

fn text(out: &mut Vec<u8>, value: Option<&Value<'_>>) {
    match value {
        None | Some(Value::Null) => out.push(0xFB),
        Some(Value::Int(value)) => put_string(out, value.to_string().as_bytes()),
        Some(Value::Text(value)) => put_string(out, value),
    }
}

/// The null bitmap of rows leaves out so many bits.
const NULL_OFFSET: usize = 2;

fn binary(out: &mut Vec<u8>, columns: &[Column], values: &[Value<'_>]) {
    out.push(0);
    let nulls = out.len();
    out.resize(nulls + (columns.len() + NULL_OFFSET).div_ceil(8), 0);
    for (place, column) in columns.iter().enumerate() {
        match (column.kind, values.get(place)) {
            (ColumnType::Int, Some(Value::Int(value))) => {
                out.extend_from_slice(&(*value as i32).to_le_bytes());
            }
            (ColumnType::BigInt, Some(Value::Int(value))) => {
                out.extend_from_slice(&value.to_le_bytes());
            }
            (ColumnType::Decimal, Some(Value::Int(value))) => {
                put_string(out, value.to_string().as_bytes());
            }
            (ColumnType::Text, Some(Value::Text(value))) => put_string(out, value),
            _ => {
                let bit = place + NULL_OFFSET;
                out[nulls + bit / 8] |= 1 << (bit % 8);
            }
        }
    }
}

/// The end of rows.
pub fn put_end(out: &mut Vec<u8>, number: u8, agreed: Agreed) -> u8 {
    if !agreed.deprecate_eof {
        return put_eof(out, number);
    }
    packet(out, number, |out| done(out, 0xFE, 0))
}

#[cfg(test)]
mod tests {
    use super::super::super::answer::{Answer, Event, Preparation};
    use super::super::super::codec::{Next, Packets};
    use super::super::super::packets::{Greeting, Turn};
    use super::super::super::rows::{Columns, Row};
    use super::*;
    use crate::WireError;
    use crate::sql::{Completion, Row as _};

    const COLUMNS: [Column; 5] = [
        Column { name: "a", kind: ColumnType::Int },
        Column { name: "b", kind: ColumnType::BigInt },
        Column { name: "c", kind: ColumnType::Decimal },
        Column { name: "d", kind: ColumnType::Text },
        Column { name: "e", kind: ColumnType::Text },
    ];

    const SHAPES: [Agreed; 4] = [
        Agreed { deprecate_eof: true, cache_metadata: true },
        Agreed { deprecate_eof: true, cache_metadata: false },
        Agreed { deprecate_eof: false, cache_metadata: true },
        Agreed { deprecate_eof: false, cache_metadata: false },
    ];

    /// The payloads of packets whose numbers begin at `first` and end before `next`.
    fn payloads(mut stream: &[u8], first: u8, next: u8) -> Vec<Vec<u8>> {
        let (mut packets, mut found) = (Packets::default(), Vec::new());
        packets.expect(first);
        while let Next::Packet { payload, bytes } = packets.next(stream).unwrap() {
            found.push(payload.to_vec());
            stream = &stream[bytes..];
        }
        assert!(stream.is_empty());
        assert_eq!(packets.number(), next);
        found
    }

    #[test]
    fn our_own_client_reads_the_greeting_and_the_login_s_end() {
        let mut out = Vec::new();
        let scramble = std::array::from_fn(|place| place as u8 + 1);
        let next = put_greeting(&mut out, "10.11.0-MariaDB", 77, OFFERED, scramble);
        let greeting = Greeting::read(&payloads(&out, 0, next)[0]).unwrap();
        assert_eq!((&greeting.version[..], greeting.connection), ("10.11.0-MariaDB", 77));
        assert_eq!((greeting.capabilities, greeting.scramble), (OFFERED, scramble.to_vec()));
        assert_eq!(greeting.method, "mysql_native_password");
        let mut out = Vec::new();
        let next = put_ok(&mut out, 2, 0);
        assert_eq!(Turn::read(&payloads(&out, 2, next)[0]).unwrap(), Turn::Welcome);
    }

    #[test]
    fn our_own_client_reads_preparations_and_rows_whatever_was_agreed_on() {
        for agreed in SHAPES {
            let mut out = Vec::new();
            let next = put_prepared(&mut out, agreed, 4, 3, &COLUMNS);
            let mut preparation = Preparation::new(agreed);
            let mut prepared = None;
            for payload in payloads(&out, 1, next) {
                assert!(prepared.is_none(), "a packet too many");
                prepared = preparation.take(&payload).unwrap();
            }
            let prepared = prepared.unwrap().unwrap();
            assert_eq!((prepared.id, prepared.parameters, prepared.columns), (4, 3, 5));
            let mut out = Vec::new();
            let mut number = put_columns(&mut out, 1, agreed, Format::Binary, &COLUMNS);
            let values = [
                Value::Int(-5),
                Value::Int(1 << 40),
                Value::Int(123_456),
                Value::Text(b"text"),
                Value::Null,
            ];
            for _ in 0..2 {
                number = put_row(&mut out, number, Format::Binary, &COLUMNS, &values);
            }
            let next = put_end(&mut out, number, agreed);
            rows_are_read(&payloads(&out, 1, next), agreed, preparation.columns);
        }
    }

    fn rows_are_read(payloads: &[Vec<u8>], agreed: Agreed, mut columns: Columns) {
        let (mut answer, mut end) = (Answer::new(agreed), None);
        for payload in payloads {
            match answer.take(payload, &mut columns).unwrap() {
                Event::Nothing => {}
                Event::Row(payload) => {
                    let row = Row::read(payload, columns.get()).unwrap();
                    assert_eq!(row.int(0).unwrap(), Some(-5));
                    assert_eq!(row.int(1).unwrap(), Some(1 << 40));
                    assert_eq!(row.int(2).unwrap(), Some(123_456));
                    assert_eq!(row.text(3).unwrap(), Some(&b"text"[..]));
                    assert_eq!(row.text(4).unwrap(), None);
                }
                Event::End(completion) => end = Some(completion),
                Event::Failed(error) => panic!("{error}"),
            }
        }
        assert_eq!(end, Some(Completion { rows: 2, affected: 0 }));
    }

    #[test]
    fn an_error_and_a_count_of_changed_rows_arrive() {
        let agreed = SHAPES[0];
        let mut out = Vec::new();
        let next = put_error(&mut out, 1, 1235, *b"42000", "not known");
        let payload = &payloads(&out, 1, next)[0];
        let event = Answer::new(agreed).take(payload, &mut Columns::default()).unwrap();
        let Event::Failed(WireError::Server { code, message, .. }) = event else {
            panic!("{event:?}");
        };
        assert_eq!((&code[..], &message[..]), ("1235", "not known"));
        let mut out = Vec::new();
        let next = put_ok(&mut out, 1, 300);
        let payload = &payloads(&out, 1, next)[0];
        let event = Answer::new(agreed).take(payload, &mut Columns::default()).unwrap();
        assert!(matches!(event, Event::End(Completion { rows: 0, affected: 300 })), "{event:?}");
    }
}
