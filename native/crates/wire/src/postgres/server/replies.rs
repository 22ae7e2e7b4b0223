//! What servers send. Each function appends one message.

use super::super::TransactionState;
use super::super::messages::oid;
use super::requests::Formats;
use crate::answers::{Column, ColumnType, Command};
use crate::sql::Value;

/// `Parse` was done.
pub const PARSE_COMPLETE: [u8; 5] = *b"1\0\0\0\x04";
/// `Bind` was done.
pub const BIND_COMPLETE: [u8; 5] = *b"2\0\0\0\x04";
/// `Close` was done.
pub const CLOSE_COMPLETE: [u8; 5] = *b"3\0\0\0\x04";
/// The statement returns no rows.
pub const NO_DATA: [u8; 5] = *b"n\0\0\0\x04";
/// A text without a statement was run.
pub const EMPTY_QUERY: [u8; 5] = *b"I\0\0\0\x04";
/// TLS and GSSAPI are not spoken. No message, but a byte.
pub const NO_ENCRYPTION: u8 = b'N';

fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A text, which ends at its first zero byte.
fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().take_while(|&byte| byte != 0));
    out.push(0);
}

/// The user is in, whoever it is.
pub fn authenticated(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&[0; 4]));
}

/// A setting and its value.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name);
        text(out, value);
    });
}

/// What a cancel request would have to name.
pub fn backend_key(out: &mut Vec<u8>, process: u32, secret: u32) {
    message(out, b'K', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(&secret.to_be_bytes());
    });
}

/// The server waits for the next request.
pub fn ready(out: &mut Vec<u8>, state: TransactionState) {
    let state = match state {
        TransactionState::Idle => b'I',
        TransactionState::InTransaction => b'T',
        TransactionState::Failed => b'E',
    };
    message(out, b'Z', |out| out.push(state));
}

/// The types of a statement's parameters.
pub fn parameter_description(out: &mut Vec<u8>, types: &[u32]) {
    message(out, b't', |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.iter().for_each(|found| out.extend_from_slice(&found.to_be_bytes()));
    });
}

/// The columns of the rows that come.
pub fn row_description(out: &mut Vec<u8>, columns: &[Column], formats: Formats<'_>) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (place, column) in columns.iter().enumerate() {
            text(out, column.name);
            // No table, and none of its columns.
            out.extend_from_slice(&[0; 6]);
            let (found, bytes): (u32, i16) = match column.kind {
                ColumnType::Int => (oid::INT4, 4),
                ColumnType::BigInt => (oid::INT8, 8),
                ColumnType::Decimal => (oid::NUMERIC, -1),
                ColumnType::Text => (oid::TEXT, -1),
            };
            out.extend_from_slice(&found.to_be_bytes());
            out.extend_from_slice(&bytes.to_be_bytes());
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            out.extend_from_slice(&u16::from(formats.is_binary(place)).to_be_bytes());
        }
    });
}

/// A row. A value that does not fit its column, and one that is missing, is null.
pub fn data_row(out: &mut Vec<u8>, columns: &[Column], formats: Formats<'_>, values: &[Value<'_>]) {
    message(out, b'D', |out| {
        out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        for (place, column) in columns.iter().enumerate() {
            match values.get(place) {
                Some(Value::Int(value)) if column.kind != ColumnType::Text => {
                    integer(out, column.kind, *value, formats.is_binary(place));
                }
                Some(Value::Text(value)) if column.kind == ColumnType::Text => {
                    field(out, value);
                }
                _ => out.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
    });
}

fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn integer(out: &mut Vec<u8>, kind: ColumnType, value: i64, is_binary: bool) {
    match kind {
        _ if !is_binary => field(out, value.to_string().as_bytes()),
        ColumnType::Int => field(out, &(value as i32).to_be_bytes()),
        ColumnType::Decimal => numeric(out, value),
        ColumnType::BigInt | ColumnType::Text => field(out, &value.to_be_bytes()),
    }
}

/// A whole decimal in the format of `numeric_send`: digits of base 10,000, how many, the first
/// one's weight, sign, no digits after the point.
///
/// Source: PostgreSQL, `src/backend/utils/adt/numeric.c`.
fn numeric(out: &mut Vec<u8>, value: i64) {
    let (mut rest, mut digits, mut count) = (value.unsigned_abs(), [0_u16; 5], 0);
    while rest > 0 {
        digits[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    let (weight, sign) = (count.saturating_sub(1) as u16, if value < 0 { 0x4000 } else { 0 });
    out.extend_from_slice(&(8 + 2 * count as u32).to_be_bytes());
    let head: [u16; 4] = [count as u16, weight, sign, 0];
    for half in head.iter().chain(digits[..count].iter().rev()) {
        out.extend_from_slice(&half.to_be_bytes());
    }
}

/// A statement was run: how many rows it returned or changed.
pub fn command_complete(out: &mut Vec<u8>, command: Command, rows: u64) {
    let word = match command {
        Command::Select => "SELECT ",
        Command::Insert => "INSERT 0 ",
        Command::Update => "UPDATE ",
        Command::Delete => "DELETE ",
        Command::Begin => return message(out, b'C', |out| text(out, "BEGIN")),
        Command::Commit => return message(out, b'C', |out| text(out, "COMMIT")),
        Command::Rollback => return message(out, b'C', |out| text(out, "ROLLBACK")),
        Command::Set => return message(out, b'C', |out| text(out, "SET")),
    };
    message(out, b'C', |out| text(out, &format!("{word}{rows}")));
}

/// An error: its SQLSTATE and its words. A fatal one is the last message.
pub fn error(out: &mut Vec<u8>, is_fatal: bool, code: &str, words: &str) {
    let severity = if is_fatal { "FATAL" } else { "ERROR" };
    message(out, b'E', |out| {
        for (letter, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', words)] {
            out.push(letter);
            text(out, value);
        }
        out.push(0);
    });
}

#[cfg(test)]
mod tests {
    use super::super::super::codec::{self, Authentication, Message, rows_of_tag};
    use super::super::super::rows::int_of_numeric;
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { name: "a", kind: ColumnType::Int },
        Column { name: "b", kind: ColumnType::BigInt },
        Column { name: "c", kind: ColumnType::Decimal },
        Column { name: "d", kind: ColumnType::Text },
    ];

    fn only(out: &[u8]) -> Message<'_> {
        let (bytes, message) = codec::next(out).unwrap().unwrap();
        assert_eq!(bytes, out.len(), "more than one message");
        message
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn our_own_client_reads_what_surrounds_rows() {
        let ok = written(authenticated);
        assert_eq!(only(&ok), Message::Authentication(Authentication::Ok));
        for state in
            [TransactionState::Idle, TransactionState::InTransaction, TransactionState::Failed]
        {
            assert_eq!(only(&written(|out| ready(out, state))), Message::ReadyForQuery(state));
        }
        assert_eq!(only(&PARSE_COMPLETE), Message::ParseComplete);
        assert_eq!(only(&BIND_COMPLETE), Message::BindComplete);
        assert_eq!(only(&CLOSE_COMPLETE), Message::CloseComplete);
        assert_eq!(only(&NO_DATA), Message::NoData);
        assert_eq!(only(&EMPTY_QUERY), Message::EmptyQuery);
        let status = written(|out| parameter_status(out, "name", "value"));
        assert_eq!(only(&status), Message::ParameterStatus { name: b"name", value: b"value" });
        let types = written(|out| parameter_description(out, &[oid::INT8]));
        assert_eq!(only(&types), Message::ParameterDescription(&[0, 0, 0, 20]));
        for (command, rows) in [(Command::Insert, 15), (Command::Update, 0), (Command::Select, 3)] {
            let complete = written(|out| command_complete(out, command, rows));
            let Message::CommandComplete { tag } = only(&complete) else { panic!() };
            assert_eq!(rows_of_tag(tag), rows);
        }
        let failed = written(|out| error(out, false, "0A000", "not known"));
        let Message::Error(report) = only(&failed) else { panic!() };
        assert_eq!((&*report.code(), &*report.message()), ("0A000", "not known"));
        assert!(!report.is_end());
    }

    #[test]
    fn our_own_client_reads_rows_in_both_formats() {
        let all = Formats::default();
        let described = written(|out| row_description(out, &COLUMNS, all));
        let Message::RowDescription(description) = only(&described) else { panic!() };
        let types: Vec<_> = description.columns().map(|column| column.type_oid).collect();
        assert_eq!(types, [oid::INT4, oid::INT8, oid::NUMERIC, oid::TEXT]);
        let values = [Value::Int(-5), Value::Int(6), Value::Int(7), Value::Text(b"text")];
        let row = written(|out| data_row(out, &COLUMNS, all, &values));
        let Message::DataRow(fields) = only(&row) else { panic!() };
        let texts: Vec<_> = fields.iter().map(Option::unwrap).collect();
        assert_eq!(texts, [&b"-5"[..], b"6", b"7", b"text"]);
        let nulls = written(|out| data_row(out, &COLUMNS, all, &[Value::Null]));
        let Message::DataRow(fields) = only(&nulls) else { panic!() };
        assert_eq!(fields.iter().collect::<Vec<_>>(), [None; 4]);
    }

    #[test]
    fn decimals_are_read_as_what_was_written() {
        for value in [0, 7, -7, 9_999, 10_000, 10_001, -123_456_789, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            numeric(&mut out, value);
            assert_eq!(out[..4], (out.len() as u32 - 4).to_be_bytes());
            assert_eq!(int_of_numeric(&out[4..]), Some(value));
        }
    }
}
